"""Walls of consent in many languages, and articles that have the same words and the same buttons beside them."""

WALLS = {
    "en_buttons": (
        "<div class='wrap'><h2>Welcome to The Herald</h2><div class='txt'><p>We and our 842 partners store and access"
        " information on your device, such as unique identifiers and browsing data, to provide personalised "
        "advertising and content, advertising measurement and audience research.</p><p>Some of our partners do so "
        "without asking; you can object to that.</p></div><div class='btns'><button>Accept all</button><button>Reject"
        " all</button><button>Settings</button></div></div>"
    ),
    "en_submit": (
        "<main><h1>Before you continue</h1><p>We and our 842 partners store and access information on your device and"
        " process personal data, such as cookies and unique identifiers, for personalised ads and content, "
        "measurement and audience insights. You can change your choices at any time.</p><form method=post "
        "action=/c><input type=hidden name=n value=1><input type=submit value='Reject all'><input type=submit "
        "value='Accept all'></form></main>"
    ),
    "en_role": (
        "<div id=app><div><p>We and our 842 partners store and access information on your device for personalised ads"
        " and content, ad measurement and audience research. Precise geolocation data may be used. Your preferences "
        "apply to this website only.</p></div><div><div role=button tabindex=0>Agree and close</div><a role=button "
        "href='#'>Do not consent</a></div></div>"
    ),
    "en_aria": (
        "<div><p>We and our 842 partners store and access information on your device, such as unique identifiers and "
        "browsing data, to provide personalised advertising and content, advertising measurement and audience "
        "research. Your consent applies here only.</p><button aria-label='Accept all'><svg></svg></button></div>"
    ),
    "en_links": (
        "<div><p>We and our 842 partners store and access information on your device, such as unique identifiers and "
        "browsing data, to provide personalised advertising and content, advertising measurement and audience "
        "research. You can withdraw your consent.</p><p><a href=/ok>Accept and continue</a> | <a href=/no>Reject "
        "all</a></p></div>"
    ),
    "en_frame": (
        "<header><a href=/>The Herald</a><nav><a href=/n>News</a><a href=/s>Sport</a></nav></header><div "
        "class=x><div><div>We and our 842 partners store and access information on your device, such as unique "
        "identifiers and browsing data, to provide personalised advertising and content, advertising measurement and "
        "audience research.</div><div>You may change your choices at any time.</div></div><div><ul><li><label><input "
        "type=checkbox>Personalised ads</label></li><li><label><input type=checkbox>Measurement and "
        "cookies</label></li></ul><button>Save</button><button>Accept all</button></div></div><footer><p>© 2026 "
        "Herald Media Ltd. All rights reserved. <a href=/p>Privacy policy</a> <a href=/c>Cookie "
        "policy</a></p></footer>"
    ),
    "en_table": (
        "<table><tr><td><p>We and our 842 partners store and access information on your device, such as unique "
        "identifiers and browsing data, to provide personalised advertising and content, advertising measurement and "
        "audience research.</p><p>Your privacy matters to us.</p></td></tr><tr><td><form><input type=submit value='I "
        "agree'> or <input type=button value='More options'></form></td></tr></table>"
    ),
    "de_stimmen": (
        "<div class='box'><h1>Weiterlesen mit Werbung</h1><p>Wenn Sie auf „Weiter“ klicken, stimmen Sie der Nutzung "
        "von Cookies und der Verarbeitung Ihrer Daten durch uns und unsere 212 Partner zu. Ihre Einwilligung können "
        "Sie jederzeit in der Datenschutzerklärung widerrufen.</p><p><button>Zustimmen und weiter</button> <a "
        "href='/abo'>PUR-Abo abschließen</a></p></div>"
    ),
    "de_wenn": (
        "<div><div><p>Wenn Sie zustimmen, speichern wir und unsere Partner Informationen auf Ihrem Gerät, zum "
        "Beispiel Cookies und Kennungen, und verarbeiten personenbezogene Daten für personalisierte Werbung. Ohne "
        "Einwilligung lesen Sie mit einem Abo.</p></div><div><a class=btn role=button href='#'>Einwilligen und "
        "weiterlesen</a></div></div>"
    ),
    "de_du": (
        "<div><p>Wir und unsere Partner brauchen deine Einwilligung, um Cookies zu setzen und dir personalisierte "
        "Werbung zu zeigen. Du kannst deine Einwilligung jederzeit widerrufen, mehr dazu in unserer "
        "Datenschutzerklärung.</p><button>Ich stimme zu</button></div>"
    ),
    "de_willigen": (
        "<div><p>Mit dem Klick auf „Einverstanden“ willigen Sie in den Einsatz von Cookies und die Verarbeitung "
        "personenbezogener Daten durch uns und unsere Partner ein, auch für personalisierte Werbung. Mehr dazu in "
        "unserer Datenschutzerklärung.</p><div role='button'>Einverstanden</div></div>"
    ),
    "de_pur2": (
        "<div class=c><div class=col><h2>Cookies zustimmen</h2><p>Besuchen Sie uns wie gewohnt mit Werbung und "
        "Tracking, indem Sie der Nutzung aller Cookies zustimmen. Details zum Tracking finden Sie im Privacy Center "
        "und in der Datenschutzerklärung. Wir und unsere Partner verarbeiten personenbezogene "
        "Daten.</p><button>Zustimmen und weiter</button></div><div class=col><h2>… oder Herald pur "
        "bestellen</h2><p>Mit Herald pur ab 3 Euro im Monat können Sie uns ohne Analyse-Tracking und Werbung nutzen, "
        "auf allen Geräten.</p><a href=/pur>Zu Herald pur</a></div></div>"
    ),
    "fr_accepte": (
        "<div><h2>Le respect de votre vie privée est notre priorité</h2><p>Nos partenaires et nous-mêmes stockons "
        "et/ou accédons à des informations sur un appareil, telles que les cookies, et traitons les données "
        "personnelles pour les publicités et contenus personnalisés, la mesure d&rsquo;audience et le développement "
        "de services.</p><div><a role=button href='#'>J&rsquo;accepte</a></div></div>"
    ),
    "fr_tout": (
        "<section><div><p>Avec nos 812 partenaires, nous utilisons des cookies et des traceurs pour stocker et "
        "accéder à vos données personnelles. Certains partenaires s&rsquo;appuient sur leur intérêt légitime. Vous "
        "pouvez retirer votre consentement à tout moment.</p></div><div><button>Tout "
        "accepter</button><button>Continuer sans accepter</button></div></section>"
    ),
    "es_todo": (
        "<div><p>Nosotros y nuestros 834 socios almacenamos o accedemos a información en un dispositivo, como "
        "cookies, y tratamos datos personales para ofrecer publicidad y contenido personalizados, medición de "
        "anuncios e investigación de audiencia. Puede retirar su consentimiento en cualquier "
        "momento.</p><p><button>Aceptar todo</button><button>Suscribirse</button></p></div>"
    ),
    "es_acepto": (
        "<div><h2>Su privacidad nos importa</h2><p>Con su consentimiento, nosotros y nuestros socios usamos cookies e"
        " identificadores únicos para tratar datos personales y mostrarle publicidad "
        "personalizada.</p></div><form><input type=button value='Acepto'></form>"
    ),
    "it_tutto": (
        "<div><div><p>Noi e i nostri 771 partner archiviamo e accediamo a informazioni su un dispositivo, come i "
        "cookie, e trattiamo dati personali per annunci e contenuti personalizzati, con il tuo consenso. Puoi leggere"
        " la nostra informativa sulla privacy.</p></div><div><button>Accetta tutto</button><button>Rifiuta e "
        "abbonati</button></div></div>"
    ),
    "it_acconsenti": (
        "<div><p>Con il tuo consenso, noi e terze parti selezionate utilizziamo cookie e tecnologie simili per "
        "trattare dati personali, pubblicità personalizzata e misurazione delle prestazioni. Puoi negare il consenso "
        "quando vuoi.</p><span role=button>Acconsento</span></div>"
    ),
    "nl_alles": (
        "<div><h1>Wij gebruiken cookies</h1><p>Wij en onze 142 partners slaan informatie op je apparaat op, zoals "
        "cookies, en verwerken persoonsgegevens voor gepersonaliseerde advertenties en doelgroepenonderzoek. Je "
        "toestemming kun je altijd intrekken; lees ons privacybeleid.</p><button>Alles accepteren</button></div>"
    ),
    "nl_akkoord": (
        "<div><p>Met jouw toestemming plaatsen wij en onze partners cookies om persoonsgegevens te verwerken, "
        "gepersonaliseerde advertenties te tonen en onze website te verbeteren. Derden kunnen je internetgedrag "
        "volgen. Zie ons privacybeleid.</p><div><a href='/ok' role=button>Ja, ik ga "
        "akkoord</a><button>Weigeren</button></div></div>"
    ),
    "pt_tudo": (
        "<div><p>Nós e os nossos 842 parceiros armazenamos e acedemos a informações num dispositivo, como cookies, e "
        "processamos dados pessoais para publicidade e conteúdos personalizados. Com o seu consentimento, podemos "
        "usar dados de geolocalização precisos.</p><div><button>Aceitar tudo</button><button>Rejeitar "
        "tudo</button></div></div>"
    ),
    "pt_concordo": (
        "<main><p>Valorizamos a sua privacidade. Com o seu consentimento, nós e os nossos parceiros usamos cookies "
        "para tratar dados pessoais e mostrar publicidade personalizada.</p><form><input type=submit "
        "value='Concordo'></form></main>"
    ),
    "pl_wszystko": (
        "<div><h2>Szanujemy Twoją prywatność</h2><p>My i nasi 842 partnerzy przechowujemy informacje na urządzeniu "
        "lub uzyskujemy do nich dostęp, na przykład pliki cookie, i przetwarzamy dane osobowe w celu wyświetlania "
        "spersonalizowanych reklam i treści. Zgodę możesz w każdej chwili wycofać; więcej w polityce "
        "prywatności.</p><button>Zaakceptuj wszystko</button></div>"
    ),
    "pl_przejdz": (
        "<div><p>Za Twoją zgodą my i nasi zaufani partnerzy używamy plików cookies, aby przetwarzać Twoje dane "
        "osobowe i pokazywać Ci spersonalizowane reklamy. Zgodę możesz wycofać w polityce prywatności.</p><div "
        "role=button>Akceptuję i przechodzę do serwisu</div></div>"
    ),
    "ja": (
        "<div><p>当サイトと当社のパートナーは、 クッキーを使用し、 個人情報を処理します。"
        " プライバシーに関する設定はいつでも変更できます。 "
        "</p><button>すべて同意する</button></div>"
    ),
}
"""By language and what is particular about them: nothing of these pages is an article."""
ARTICLES = {
    "en_howto": (
        "<div class=bottom><p>We use cookies.</p><button>Accept all</button></div><div class=story><h2>How to get rid"
        " of cookie banners</h2><p>Every website asks for your consent, and you rarely know what our partners in "
        "advertising do with it. We tried six browsers to see which one rejects third-party cookies on its own. "
        "Tracking stopped at once in two of them; in the others your personal data still reaches vendors who claim a "
        "legitimate interest.</p><p>You may also accept a cookie once and clear your preferences later, we "
        "found.</p></div>"
    ),
    "en_short": (
        "<div><p>The regulator fined a publisher on Monday for storing cookies without consent. Its 842 partners had "
        "access to personal data of readers, and tracking began before anybody could refuse. “We take your privacy "
        "seriously,” said the publisher.</p></div><div class=bottom><p>We use cookies.</p><button>Accept "
        "all</button></div>"
    ),
    "en_prose_link": (
        "<div><p>We looked at what your consent is worth. Third-party vendors and partners go on tracking; personal "
        "data leaves the page before you can <a href=/x>reject cookies</a> at all.</p><p>Our test covers <a "
        "href=/y>forty sites</a>.</p></div>"
    ),
    "en_only_prose_link": (
        "<div><p>We looked at what your consent is worth: third-party vendors go on tracking, and personal data leaves "
        "the page as soon as you <a href=/x>accept all cookies</a> on any of the sites.</p></div>"
    ),
    "en_no_banner_links": (
        "<header><a href=/>The Herald</a><nav><a href=/n>News</a><a href=/s>Sport</a></nav></header><div><p>We "
        "removed cookies from our site: your consent is not asked, your personal data stays with you, third-party "
        "vendors see nothing and tracking is over.</p><h3>Read on</h3><ul><li><a href=/1>Reject all cookies</a> in "
        "your browser</li><li><a href=/2>Why I accept cookies</a></li><li><a href=/3>Cookie consent</a></li><li><a "
        "href=/4>How to agree on privacy</a></li></ul></div><footer><p>© 2026 Herald Media Ltd. All rights reserved. "
        "<a href=/p>Privacy policy</a> <a href=/c>Cookie policy</a></p></footer>"
    ),
    "en_newsletter": (
        "<div><div><p>Consent is what the court asks for before cookies are stored. We asked our lawyers what your "
        "site must do about tracking, vendors and personal data now.</p></div><form><p>Sign up for our weekly "
        "newsletter and never miss a story that matters to people who build web pages, in your inbox each Friday at "
        "noon, for free.</p><input type=email><button>I agree, sign me up</button></form></div>"
    ),
    "en_comment_form": (
        "<div><p>We removed cookies from our site: your consent is not asked, your personal data stays with you, "
        "third-party vendors see nothing and tracking is over.</p><form><textarea></textarea><p>By posting you accept"
        " our rules and our privacy policy.</p><button>I accept and post</button></form></div>"
    ),
    "en_embed": (
        "<div class=post><h1>Cookies</h1><p>We asked you how you deal with cookies and consent. Most of our readers "
        "refuse tracking; a few share personal data with vendors gladly.</p><div class=embed><p>With your consent, "
        "external content is shown here.</p><button>Accept and show</button></div><p>Your preferences differ by age, "
        "and so does your privacy.</p></div>"
    ),
    "en_dialog_short": (
        "<div><p>We value your privacy. We and our 812 partners store and/or access information on a device, such as "
        "cookies, and process personal data.</p><p>With your consent we and our partners may use precise geolocation "
        "data.</p><button>Accept all</button></div><div class=post><h1>Ferries</h1><p>Ministers agreed on Tuesday "
        "evening to dredge the northern channel of the harbour, after a long debate.</p></div>"
    ),
    "en_dialog_short_consent": (
        "<div class=post><h1>Consent</h1><p>The regulator wants consent for cookies to be given once in the browser, "
        "so that vendors and third parties need not ask on each page; tracking and personal data are what it is "
        "after.</p></div><div><p>We value your privacy. We and our 812 partners store and/or access information on a "
        "device, such as cookies, and process personal data.</p><p>With your consent we and our partners may use "
        "precise geolocation data.</p><button>Accept all</button></div>"
    ),
    "de_urteil": (
        "<div class=banner><p>Diese Seite nutzt Cookies.</p><button>Akzeptieren</button></div><div><h2>Gericht rügt "
        "Cookie-Banner</h2><p>Das Landgericht hat entschieden, dass eine Einwilligung in Cookies nur gilt, wenn "
        "Nutzer ebenso leicht ablehnen können. Die Zustimmung müsse freiwillig sein, der Datenschutz gehe vor. Auch "
        "die Partner des Portals verarbeiteten personenbezogene Daten. „Wir prüfen das Urteil“, teilte das "
        "Unternehmen mit; sie stimmen dem nicht zu.</p></div>"
    ),
    "de_kurz": (
        "<div><p>Die Datenschutzbehörde hat ein Medienhaus gerügt: Es holte keine Einwilligung für Cookies ein, und "
        "die Zustimmung war vorausgewählt. Personenbezogene Daten gingen an Partner. Leser sollen nun ablehnen "
        "können.</p><p><a href=/abo>Abo abschließen</a> <a href=/c>Cookies ablehnen</a></p></div><div><p>Wir nutzen "
        "Cookies.</p><button>Alle akzeptieren</button></div>"
    ),
    "de_embed": (
        "<div class=post><h1>Abstimmung</h1><p>Bei der Wahl am Sonntag stimmen Sie über den neuen Rat ab. Wir "
        "erklären, wie.</p><div class=embed><p>Mit Ihrer Einwilligung zeigen wir hier externe Inhalte. Dabei werden "
        "personenbezogene Daten und Cookies an Partner übertragen; mehr in der Datenschutzerklärung.</p><button>Ich "
        "stimme zu</button></div></div>"
    ),
    "de_blog": (
        "<div><p>Wir nutzen Cookies, damit Sie uns finden.</p><button>OK</button> "
        "<button>Ablehnen</button></div><div><p>Wir haben aus unserem Blog alle Cookies entfernt. Ihre Einwilligung "
        "brauchen wir nicht mehr, personenbezogene Daten bleiben bei Ihnen, und der Datenschutz ist leicht erklärt: "
        "kein Tracking, keine Partner.</p></div>"
    ),
    "fr_cnil": (
        "<div><p>Nous utilisons des cookies.</p><button>Tout accepter</button></div><div class=texte><h2>La Cnil "
        "sanctionne</h2><p>La Cnil a infligé une amende à un éditeur : refuser les cookies y était plus difficile que"
        " les accepter. Le consentement des internautes n&rsquo;était pas libre, et leurs données personnelles "
        "partaient chez des partenaires. « Nous respectons votre confidentialité », répond l&rsquo;éditeur.</p></div>"
    ),
    "fr_blog": (
        "<div><div><p>Nous utilisons des cookies pour vous.</p></div><div><a href=# "
        "role=button>J&rsquo;accepte</a></div></div><div><p>Nous avons retiré tous les cookies de notre blog. Votre "
        "consentement n&rsquo;est plus requis, vos données personnelles restent chez vous et nos partenaires "
        "n&rsquo;ont plus de traceurs.</p></div>"
    ),
    "es_aepd": (
        "<div><p>Usamos cookies.</p><button>Aceptar todo</button></div><section><p>La agencia multó a un diario por "
        "instalar cookies sin consentimiento. Los datos personales llegaban a sus socios antes de que se pudiera "
        "rechazar nada. «Respetamos su privacidad y nuestros lectores lo saben», dijo el diario.</p></section>"
    ),
    "es_blog": (
        "<div><p>Usamos cookies.</p><p><input type=button value='Aceptar todo'></p></div><div><p>Hemos quitado todas "
        "las cookies de nuestro blog. Tu consentimiento ya no hace falta, tus datos personales se quedan contigo y no"
        " hay socios que midan tu privacidad.</p></div>"
    ),
    "it_garante": (
        "<div><p>Usiamo i cookie.</p><a role=button href='#'>Accetta tutto</a></div><section><p>Il Garante ha multato"
        " un editore: i cookie partivano senza consenso e i dati personali finivano ai partner. Chi rifiuta non può "
        "leggere. «Tuteliamo la tua privacy e i nostri lettori», dice l&rsquo;editore.</p></section>"
    ),
    "nl_ap": (
        "<div><p>Wij gebruiken cookies.</p><button>Alles accepteren</button></div><section><p>De toezichthouder "
        "beboet een uitgever: cookies werden zonder toestemming geplaatst en persoonsgegevens gingen naar partners. "
        "Weigeren kostte vier klikken. &lsquo;Wij nemen uw privacy serieus&rsquo;, zegt de uitgever.</p></section>"
    ),
    "pt_cnpd": (
        "<div><p>Usamos cookies.</p><button>Aceitar tudo</button></div><section><p>A comissão multou um jornal por "
        "instalar cookies sem consentimento. Os dados pessoais seguiam para parceiros antes de se poder rejeitar. «A "
        "sua privacidade importa-nos», diz o nosso concorrente.</p></section>"
    ),
    "pl_uodo": (
        "<div><p>Używamy cookies.</p><button>Zaakceptuj wszystko</button></div><section><p>Urząd ukarał wydawcę: "
        "pliki cookies zapisywano bez zgody, a dane osobowe trafiały do partnerów. Prywatności czytelników nie da się"
        " kupić, a nasza redakcja i Twoja przeglądarka mogą odmówić.</p></section>"
    ),
    "pl_blog": (
        "<div><p>Używamy cookies.</p><input type=button value='Zaakceptuj wszystko'></div><div><p>Usunęliśmy cookies "
        "z naszego bloga. Twoja zgoda nie jest potrzebna, Twoje dane osobowe zostają u Ciebie, a nasi partnerzy nie "
        "znają Twojej prywatności.</p></div>"
    ),
}
"""By language and subject: articles about consent, short ones, and what offers to agree to something else."""
