"""Why an edition was not sent, or not sent again: a code, and what it means for the person whose edition it is."""

WHY = {
    "mail_not_configured": "No mail is sent from here; the edition can be read.",
    "too_many_mail_addresses": "The address is one more than may be given; delete one of the others first.",
    "unanswered": "It was sent twice and no answer came: it may have arrived.",
    "bounced": "Mail to this address comes back.",
    "complained": "The owner of this address does not want this mail.",
    "unsubscribed": "The briefing was unsubscribed from.",
    "gone": "The address wants no more.",
}
STOPPED = "Delivery was stopped."
# Of ``address_not_confirmed``: how it stands with the mail that asks.
BEING_ASKED = "The address has not been confirmed; the mail that asks for it is on its way."
ASKED = "The address has not been confirmed; its owner was asked and has not said yes."
ASKED_LATELY = "The address has not been confirmed; its owner was asked within a day, and is asked by a later edition."
ASKED_IN_TURN = "The address has not been confirmed; its owner is asked later, for many were asked within a day."
