"""Why an edition was not sent, or not sent again: a code, and what it means for the person whose edition it is."""

WHY = {
    "mail_not_configured": "This system does not send email. You can read the edition in your account.",
    "too_many_mail_addresses": "You have reached the limit of email addresses. Delete one first.",
    "unanswered": "It was sent twice without an answer; it may have arrived.",
    "bounced": "Email to this address bounces.",
    "complained": "The owner of this address reported our email as spam.",
    "unsubscribed": "The recipient unsubscribed from this briefing.",
    "gone": "The webhook no longer accepts deliveries.",
}
STOPPED = "Delivery was stopped."
# Of ``address_not_confirmed``: how it stands with the mail that asks.
BEING_ASKED = "The address is not confirmed. A confirmation email is on its way."
ASKED = "The address is not confirmed. Its owner was asked but has not confirmed it."
ASKED_LATELY = "The address is not confirmed. Its owner was asked in the last 24 hours; a later edition asks again."
ASKED_IN_TURN = "The address is not confirmed. Its owner will be asked later: the daily limit of requests is reached."
