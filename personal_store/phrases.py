"""What mail programs write around a message, in the languages people write in.

Data only: the rules that use these lists are in quotes.py and signatures.py.
"""

WROTE = (
    r"wrote|writes|schrieb|schrieben|hat geschrieben|a écrit|escribió|ha scritto"
    r"|escreveu|schreef|geschreven|napisał(?:\(a\))?|napísal\(?a?\)?|napsal(?:\(a\))?"
    r"|написал(?:\(а\)|а)?|пишет|skrev|kirjoitti|yazdı|írta|scrie|a scris|έγραψε"
    r"|写道|寫道|書いた|のメール|작성|님이 작성|viết|menulis|rašė|rakstīja|kirjutas"
    r"|je napisao|เขียน|כתב|كتب"
)
"""The verb of a line that introduces a quote."""

ATTRIBUTION_STARTS = (
    r"on|am|le|el|il|em|op|den|dnia|w dniu|dne|pe|ma|ti|ke|to|la|su|a|em|dana|ngày"
)

FROM = (
    r"from|von|de|da|od|van|från|fra|lähettäjä|от|от кого|kimden|feladó|发件人|寄件者"
    r"|差出人|보낸 사람|expéditeur|mittente|remitente|nadawca"
)

HEADER = (
    r"sent|reply-to|risposta|antwort an|répondre à|responder a|date|to|cc|bcc|subject"
    r"|gesendet|datum|an|betreff|envoyé|à|objet|enviado(?: el)?|fecha|para|asunto"
    r"|inviato|data|a|oggetto|enviada(?: em)?|assunto|verzonden|aan|onderwerp|skickat"
    r"|till|ämne|sendt|til|emne|wysłano|do|temat|дата|кому|тема|отправлено|gönderen"
    r"|tarih|kime|konu|发送时间|收件人|主题|送信日時|宛先|件名|보낸 날짜|받는 사람"
    r"|제목|lähetetty|vastaanottaja|aihe|odesláno|komu|předmět"
)

ORIGINAL = (
    r"original message|original appointment|forwarded message|forwarded by.*"
    r"|ursprüngliche nachricht|weitergeleitete nachricht|original-nachricht"
    r"|message d.origine|message original|message transféré|mensaje original"
    r"|mensaje reenviado|messaggio originale|messaggio inoltrato|mensagem original"
    r"|mensagem encaminhada|oorspronkelijk bericht|doorgestuurd bericht"
    r"|ursprungligt meddelande|vidarebefordrat meddelande|oprindelig meddelelse"
    r"|videresendt meddelelse|opprinnelig melding|alkuperäinen viesti"
    r"|wiadomość oryginalna|treść oryginalnej wiadomości|původní zpráva"
    r"|исходное сообщение|пересылаемое сообщение|orijinal mesaj|iletilen ileti"
    r"|eredeti üzenet|原始邮件|转发邮件|轉寄郵件|原始郵件|元のメッセージ"
    r"|転送メッセージ|원본 메시지|전달된 메시지"
)
"""Between dashes: what follows is somebody else's."""

BEGIN_FORWARD = (
    r"begin forwarded message|anfang der weitergeleiteten (?:nachricht|e-mail)"
    r"|début du message (?:transféré|réexpédié)|inizio messaggio inoltrato"
    r"|inicio del mensaje reenviado|início da mensagem (?:reencaminhada|encaminhada)"
    r"|begin doorgestuurd bericht|vidarebefordrat brev"
)

SENT_FROM = (
    r"sent from (?:my|mail|outlook|yahoo|proton)|get outlook for"
    r"|sent (?:with|using|via)|von meinem .{1,25} gesendet|gesendet (?:von|mit)"
    r"|envoyé (?:de|depuis)|enviado (?:desde|do|a partir)|inviato da"
    r"|verzonden vanaf|verstuurd vanaf|skickat från|sendt fra|wysłane z"
    r"|отправлено (?:с|из)|lähetetty |iphone.{0,5}から送信|发自我的|從我的"
    r"|내 .{1,10}에서 보냄|나의 .{1,10}에서 보냄"
)

SIGN_OFF = (
    r"(?:with )?(?:best|kind|warm|many|warmest|kindest)?\s*(?:regards|wishes)|best"
    r"|all the best|cheers|thanks(?: again| so much| a lot)?|thank you|many thanks"
    r"|sincerely|yours(?: sincerely| truly| faithfully)?|cordially|respectfully|love"
    r"|xx+|mit freundlichen grüßen|mit besten grüßen|freundliche grüße|viele grüße"
    r"|liebe grüße|beste grüße|herzliche grüße|schöne grüße|mfg|vg|lg|gruß|grüße"
    r"|cordialement|bien cordialement|bien à vous|amicalement|bises"
    r"|(?:un )?saludos?|(?:un )?cordial saludo|atentamente|abrazos?|cordiali saluti"
    r"|distinti saluti|saluti|un saluto|atenciosamente|cumprimentos|abraços"
    r"|met vriendelijke groet(?:en)?|groet(?:en|jes)?|mvg|med vänlig hälsning"
    r"|vänliga hälsningar|hälsningar|mvh|med venlig hilsen|venlig hilsen"
    r"|pozdrawiam|z poważaniem|с уважением|saygılarımla|よろしくお願いします"
    r"|此致|敬具"
)

LIST_FOOTER = (
    r"mailing list|listinfo|unsubscribe|you received this message because"
    r"|to view this discussion|google groups|abbestellen|désabonner"
    r"|darse de baja"
)

DISCLAIMER = (
    r"confidential(?:ity)?(?: notice)?\s*[:.]|confidentiality notice\b"
    r"|this e-?mail (?:message )?(?:and any|is (?:confidential|intended)"
    r"|may contain|contains (?:confidential|privileged))"
    r"|this message (?:and any|is (?:confidential|intended)|may contain"
    r"|contains (?:confidential|privileged))"
    r"|disclaimer\s*:|the information contained in this|diese e-?mail (?:enthält|kann)"
    r"|ce message (?:et toutes|est confidentiel)"
    r"|este (?:mensaje|correo|e-?mail) (?:y|es|contiene|puede)"
    r"|please consider the environment"
    r"|if you are not the intended recipient"
)

CONTACT_WORDS = (
    r"tel|phone|mobile|cell|fax|mob|telefon|tél|office|linkedin|twitter|web|e-?mail"
)

PLACEHOLDER = (
    r"(?:your|this) (?:e-?mail|mail) (?:client|program|reader|software) "
    r"(?:does not|doesn't|cannot|can't)"
    r"|does not support html|to view this (?:e-?mail|message),? (?:please )?"
    r"|this (?:message|e-?mail) (?:is|was sent) in html|html[- ](?:mail|format|e-?mail)"
    r"|if you (?:cannot|can't|are having trouble) (?:see|view|read)"
)
"""A plain part that only says the text is in the other one."""
