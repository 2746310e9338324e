"""What mail programs write around a message, in the languages people write in.

Data only, in lower case: the rules that use it are in quotes.py and signatures.py.
"""

WROTE = (
    r"wrote|writes|(?:ge)?schrieb(?:en)?|(?:a )?écrit|escribió|escribiste|ha scritto"
    r"|scrive|escreveu|schreef|geschreven|napisał(?:\(a\)|a)?|pisze"
    r"|nap[ií]sal(?:\(?a\)?)?|napsala?(?:\(a\))?|написа[лв]?[ао]?(?:\(л?а\))?|пишет?"
    r"|skrev|kirjoitti|yazdı|yazmış|írta(?: \([^()]{5,60}\))?|scrie|a scris|έγραψε|写道"
    r"|寫道|書きました|書いた|のメール|작성|쓴 글|viết|menulis|(?:pa)?rašė|rakstīja"
    r"|kirjutas|(?:je )?napisao(?:/la)?(?: je)?|je pisal|เขียน|כתב(?:/ה|ה)?|كتبت?|نوشت"
    r"|va escriure|idatzi zuen|escribiu|skrifaði|tulis|het geskryf|ka shkruar|yazıb"
    r"|жазды|գրել է|ने लिखा|aliandika|ysgrifennodd"
)
"""The verb of a line that introduces a quote."""

ATTRIBUTION_STARTS = (
    r"on|am|le|el|il(?: giorno)?|em|op|den|dnia|w dniu|dne|dňa|pe|în|ma|ti|ke|to|la"
    r"|su|a|dana|ngày|vào|pada(?: tanggal)?|στις|на|no dia|at|i|på|във?|ві?д?"
    r"|в|у|בתאריך|ב|في|在|於|于|tir|tirs|wt|út|ut|ср|чт|пт|сб|вс|нд|пн|вт"
)

FROM = (
    r"from|von|de la|de|da|od|van|från|fra|lähettäjä|от кого|от|від|kimden|gönderen"
    r"|feladó|发件人|發件人|寄件者|寄件人|差出人|送信者|보낸 사람|보낸사람|발신"
    r"|expéditeur|mittente|remitente|remetente|nadawca|odesílatel|odosielateľ|avsändare"
    r"|afsender|avsender|αποστολέας|από|šalje|pošiljatelj|pošiljalec|מאת|من|từ"
    r"|người gửi|dari|pengirim|saatja|nuo|no|จาก|expeditor(?:ul)?|подател|отправитель"
    r"|відправник|frá|送信元|від кого"
)

HEADER = (
    r"sent|reply-to|reply to|date|to|cc|bcc|subject|sent at|sent on|importance|priority"
    r"|attachments?|organi[sz]ation|gesendet(?: am)?|datum|an|betreff|kopie|antwort an"
    r"|wichtigkeit|envoyé(?: le)?|à|objet|pour|date d['’]envoi|répondre à|sujet"
    r"|enviado(?: el)?|enviada(?: em)?|fecha|para|asunto|assunto|data|responder a"
    r"|responder para|inviato(?: il)?|a|oggetto|risposta|verzonden|aan|onderwerp"
    r"|verzonden op|skickat|till|ämne|kopia|sendt|til|emne|dato|wysłano|wysłane|do"
    r"|temat|dw|data wysłania|дата|кому|тема|отправлено|копия|копія|надіслано|относно"
    r"|до|изпратено|дата и час|tarih|kime|konu|gönderildi|gönderme tarihi|bilgi"
    r"|发送时间|发送日期|發送時間|日期|收件人|抄送|主题|主旨|主題|收件者|寄件日期"
    r"|傳送時間|副本|送信日時|日時|宛先|件名|보낸 날짜|받는 사람|받는사람|제목"
    r"|보낸 시간|참조|날짜|lähetetty|päiväys|vastaanottaja|kopio|aihe|odesláno|komu"
    r"|předmět|kopie|odoslané|odoslaná|predmet|elküldve|küldve|dátum|címzett|tárgy"
    r"|másolat|trimis|către|subiect|dată|στάλθηκε|ημερομηνία|προς|θέμα|κοιν|poslano"
    r"|prima|primatelj|za|kopija|zadeva|נשלח|תאריך|אל|נושא|עותק|تم الإرسال|أرسلت"
    r"|التاريخ|إلى|الموضوع|نسخة|đã gửi|ngày|đến|chủ đề|tiêu đề|dikirim|tanggal|kepada"
    r"|ke|perihal|subjek|saadetud|teema|išsiųsta|kam|tēma|วันที่|ถึง|เรื่อง|päivämäärä"
    r"|gönderilen|відправлено|kopi|kópia|pre|naslov|subiectul|destinatarul|adresat"
    r"|copie(?: à)?|日付|送信先|kopie \(cc\)|másolatot kap|odgovori na|odpověď na"
    r"|svar til|antwoord aan|vastaus|válaszcím|rispondi a|odpowiedź-do|răspuns către"
    r"|ответ-кому|odpovedať-pre|svara till|yanıt adresi|кому відповісти"
)

SUBJECT = (
    r"subject|betreff|objet|sujet|asunto|assunto|oggetto|onderwerp|temat|předmět"
    r"|predmet|tárgy|subiect|ämne|emne|aihe|konu|тема|относно|θέμα|件名|主题|主旨|主題"
    r"|제목|נושא|الموضوع|chủ đề|tiêu đề|perihal|subjek|zadeva|teema|tēma|เรื่อง|naslov"
    r"|subiectul"
)

ORIGINAL = (
    r"original (?:message|appointment|e-?mail)|original|forwarded (?:message|mail)"
    r"|forwarded by.*|reply message|message d.origine|message original|message initial"
    r"|this is a forwarded message|message transmis|mail original|courriel d.origine"
    r"|ursprünglicher termin|edelleenlähetetty viesti|iletilmiş mesaj"
    r"|перенаправлен\w+ (?:повідомлення|сообщение)|treść przekazanej wiadomości"
    r"|välitetty viesti.*|pesan terusan|wiadomość przesłana dalej|メッセージを転送"
    r"|προωθημένο μήνυμα|message transféré|message réexpédié|e-?mail d.origine"
    r"|courriel original|ursprüngliche (?:nachricht|mail|e-?mail)"
    r"|weitergeleitete (?:nachricht|e-?mail)|original-?nachricht|antwort nachricht"
    r"|originalnachricht|mensaje original|mensaje reenviado|mensagem original"
    r"|mensagem (?:re)?encaminhada|messaggio originale|messaggio inoltrato"
    r"|oorspronkelijk bericht|doorgestuurd bericht|origineel bericht"
    r"|ursprungligt meddelande|originalmeddelande|vidarebefordrat meddelande"
    r"|oprindelig (?:meddelelse|besked)|original meddelelse|videresendt (?:meddelelse"
    r"|melding|besked)|opprinnelig melding|alkuperäinen viesti|välitetty viesti"
    r"|(?:treść )?oryginaln\w+ wiadomo\w+|wiadomość oryginalna|wiadomość przekazana"
    r"|przekazana wiadomość|původní zpráva|původní e-?mail|přeposlaná zpráva"
    r"|pôvodná správa|preposlaná správa|исходное сообщение|пересылаемое сообщение"
    r"|пересланное сообщение|переадресованное сообщение|оригинальное сообщение"
    r"|початкове повідомлення|оригінальне повідомлення|переслане повідомлення"
    r"|първоначално съобщение|оригинално съобщение|препратено съобщение"
    r"|orijinal (?:mesaj|ileti|e-posta)|özgün (?:ileti|mesaj)|iletilen (?:ileti|mesaj)"
    r"|yönlendirilen ileti|eredeti üzenet|továbbított üzenet|mesaj(?:ul)? original"
    r"|mesaj redirecționat|mesaj inițial|αρχικό μήνυμα|προωθημένο μήνυμα|izvorna poruka"
    r"|originalna poruka|proslijeđena poruka|izvirno sporočilo|原始邮件|转发邮件"
    r"|转发的邮件|轉寄郵件|轉寄的郵件|原始郵件|原始信件|元のメッセージ|元のメール"
    r"|転送メッセージ|転送されたメッセージ|원본 ?메시지|원본 ?메일|전달된 ?메시지"
    r"|전달 ?메시지|הודעה מקורית|הודעה שהועברה|الرسالة الأصلية|رسالة معاد توجيهها"
    r"|رسالة أصلية|thư gốc|tin nhắn gốc|thư được chuyển tiếp|pesan asli"
    r"|pesan (?:yang )?diteruskan"
)
"""Between dashes: what follows is somebody else's."""

REPLY_ABOVE = (
    r"(?:type|write|enter|post)? ?(?:your )?(?:reply|response|answer"
    r"|respond)(?: to this e-?mail)? (?:above|over) (?:this|the) line"
    r"|antworten? (?:sie )?(?:bitte )?(?:ober|über)?(?:halb)? dieser (?:zeile|linie)"
    r"|antwort (?:ober|über)(?:halb)? dieser (?:zeile|linie)|au-dessus de cette ligne"
    r"|(?:encima|arriba) de esta l[ií]nea|acima desta linha"
    r"|sopra (?:di )?questa (?:linea|riga)|boven deze (?:regel|lijn)|powyżej tej linii"
    r"|över (?:den här|denna) raden|over denne linje|выше этой (?:строки|линии)"
)
"""What help desks write at the top of their mails."""

ABOVE = (
    *("above", "over ", "ober", "über", "dessus", "encima", "arriba", "acima", "sopra"),
    *("boven", "powyżej", "över", "выше"),
)
"""Words of which one stands in each phrase of REPLY_ABOVE; looked for first."""

FORWARD_STEMS = (
    r"forwarded|weitergeleitet|transf[eé]r|r[eé]exp[eé]di|reenviad|inoltrat|encaminhad"
    r"|doorgestuurd|vidarebefordra|videresend|välitet|przekaz|přepos|prepos|továbbít"
    r"|redirec[țţt]ion|пересл|переадрес|пересил|препра|iletil|yönlendir|προωθ|転送"
    r"|转发|edelleenlähet|перенаправ|пересила"
    r"|轉寄|전달|הועבר|توجيه|proslij|chuyển tiếp|diteruskan"
)
"""Words in the short line with a colon that Apple Mail puts above a forward."""

SENT = (
    r"sent|gesendet|geschickt|verschickt|envoyée?|expédié|enviad[oa]|inviat[oa]"
    r"|verzonden|verstuurd|gestuurd|wysłan[eo]|odeslán[oa]|odoslan[éáo]|küldve|küldtem"
    r"|trimis|skickat|skickad|sendt|lähetetty|gönderildi|gönderilmiştir|отправлено"
    r"|отослано|надіслано|відправлено|изпратено|poslano|poslato|στάλθηκε|εστάλη|送信"
    r"|发自|發自|发送|傳送|寄出|보냄|보낸|أُ?رسلت?|تم الإرسال|נשלח[הא]?|(?:đã )?gửi"
    r"|dikirim|terkirim|enviat|saadetud|išsiųsta|nosūtīts|ส่งจาก"
)

FIRST_PERSON = (
    r"i(?:['’](?:m|ve|d|ll)| (?:am|have|had|want|would|could|can|did|do|wrote|ran|tried"
    r"|was|need|get|got|use|used|think|see|said|sent|found|asked|never|already))|me|my"
    r"|mine|ich|mich|mir|mein\w*|je|j['’]\w+|moi|mes|yo|eu|meu|minha|ik|mij|mijn|mnie"
    r"|mój|moja|mně|jag|mig|mitt|jeg|meg|minä|minua|minut|я|меня|мне|мой|моя|мене|мені"
)
"""Words by which somebody speaks of himself, which no program does."""

PRONOUNS = (
    r"he|she|they|we|you|who|er|sie|wir|ihr|wer|man|il|elle|ils|elles|nous|vous|qui"
    r"|él|ella|ellos|quien|lui|lei|loro|chi|ele|ela|eles|quem|hij|zij|ze|wie"
    r"|han|hon|hun|hän|ona|oni|kto|kdo|он|она|они|кто|він|вона|вони"
)
"""Subjects of a verb in somebody's own sentence; programs write a name."""

ARTICLES = (
    r"the|his|her|our|your|their|some|somebody|der|die|das|ein|eine|unser\w*|sein\w*"
    r"|ihre?|jemand|la|les|un|une|mon|ma|notre|quelqu'un|el|los|una|su|nuestr[oa]|alguien"
    r"|o|um|uma|nosso|nossa|il|lo|uno|de|het|een|iemand|den|det|en|et|ett|ktoś|někdo"
)
"""What stands before a noun in a sentence, and not before a name."""

SIGN_OFF = (
    r"(?:with )?(?:my |the )?(?:best|kind|kindest|warm|warmest|many|good)?\s*(?:regards"
    r"|wishes|greetings)|best|all (?:the|my) best|(?:very )?best(?: to you)?"
    r"|with (?:kind|best|warm) regards|cheers|ta|rgds|br|kr|thx|tia|xoxo|xx+|x|(?:many "
    r"|with )?thanks(?: again| so much| a lot| very much| in advance| for \w+"
    r"| and regards| (?:and|&) best regards)?|thank you(?: again| so much| very much"
    r"| in advance)?|sincerely(?: yours)?|yours(?: sincerely| truly| faithfully| ever)?"
    r"|cordially|respectfully(?: yours)?|(?:lots of |much |with )?love|hugs|take care"
    r"|see you(?: soon| then| later)?|talk soon|speak soon|until then|have a (?:good"
    r"|nice|great|lovely) (?:day|weekend|evening|week|one)|warmly|best of luck"
    r"|(?:mit )?(?:freundliche[nm]?|beste[nm]?|viele[nm]?|liebe[nm]?|herzliche[nm]?"
    r"|schöne[nm]?|sonnige[nm]?|kollegiale[nm]?)(?: und \w+)? gr(?:ü|ue|u)(?:ß|ss)e?n?"
    r"|mfg|vg|lg|bg|hg|gruß|grüße|gruss|grüsse|herzlichst|liebe grüsse|bis (?:dann|bald"
    r"|morgen|später)|danke(?: und .{0,25})?|vielen dank(?: und .{0,25})?"
    r"|hochachtungsvoll|ciao|servus|alles gute|(?:bien |très )?cordialement"
    r"|bien à (?:vous|toi)|amicalement|bises|bisous|amitiés|(?:meilleures "
    r"|sincères )?salutations(?: distinguées)?|merci(?: d'avance| beaucoup"
    r"| par avance)?|à bientôt|cdlt|crdlt|belle journée|bonne (?:journée|soirée)|(?:un "
    r"|muchos )?saludos?(?: cordiales)?|(?:un )?(?:cordial|afectuoso) saludo"
    r"|atentamente|atte|(?:un )?(?:fuerte )?abrazos?|besos|gracias(?: de antemano)?"
    r"|(?:muchas |mil )gracias|hasta (?:pronto|luego)|cordialmente|cordiali saluti"
    r"|distinti saluti|(?:un |tanti )?(?:caro |cari |cordiale )?salut[io]|a presto"
    r"|grazie(?: mille)?|un abbraccio|buona giornata|atenciosamente"
    r"|(?:com os )?(?:melhores |meus |os melhores )?cumprimentos|att"
    r"|(?:um )?(?:grande )?abraços?|(?:muito )?obrigad[oa]|beijos|até breve|saudações"
    r"|(?:met )?(?:vriendelijke|hartelijke|beste|lieve)? ?groet(?:en|jes)?|mvg|bedankt"
    r"|alvast bedankt|dank je(?: wel)?|liefs|hoogachtend|med vänliga? hälsning(?:ar)?"
    r"|(?:vänliga |bästa |varma |många )?hälsningar|vänligen|mvh|hälsn"
    r"|tack(?: på förhand)?|kram|(?:med )?(?:venlig|vennlig|kærlig|bedste|beste"
    r"|mange) ?hilsen(?:er)?|(?:de |med )?(?:bedste|beste|mange|venlige"
    r"|vennlige) hilsn?er|hilsen|mange tak|vh|dbh|tak|takk|på forhånd tak|klem|kh"
    r"|(?:ystävällisin |parhain |lämpimin )?terveisin|terv|terkuin|t|kiitos|kiittäen"
    r"|pozdrawiam(?: serdecznie)?|(?:serdecznie |serdeczne )?pozdrow(?:ienia|ieniami)"
    r"|z poważaniem|dziękuję|dzięki|z wyrazami szacunku|(?:s |se )?(?:přátelským "
    r"|srdečným |uctivým )?pozdrav(?:em|om)?|hezký den|s úctou|děkuji|díky|zdravím"
    r"|ďakujem|s pozdravom|(?:baráti |szívélyes |tisztelettel )?üdvözlettel"
    r"|tisztelettel|üdv|köszönettel|köszönöm|puszi|cu (?:stimă|drag|respect)"
    r"|(?:cele mai bune |toate cele bune)urări|mulțumesc|numai bine|o zi bună"
    r"|saygılarım(?:la|ızla)|sevgiler(?:le|imle)?|selamlar|teşekkürler|iyi (?:günler"
    r"|çalışmalar)|(?:с|з) (?:уважением|повагою|любовью)|с наилучшими пожеланиями"
    r"|всего (?:доброго|хорошего)|спасибо|(?:най-)?(?:добри )?поздрави|с уважение"
    r"|благодаря|дякую|щиро|до встречи|με εκτίμηση|φιλικά|χαιρετισμούς"
    r"|(?:με )?φιλικούς χαιρετισμούς|ευχαριστώ|(?:srdačan |lijep |lep )?pozdrav"
    r"|(?:s )?poštovanjem|hvala|lp|lijepi pozdrav|よろしくお願い(?:いた)?します|敬具"
    r"|以上|どうぞよろしくお願い(?:いた|致)します|宜しくお願い(?:いた|致)?します|では"
    r"|草々|此致(?:敬礼|敬禮)?|敬礼|敬禮|祝好|谢谢|謝謝|顺祝商祺|敬祝.{0,6}|敬上"
    r"|順頌商祺|祝.{1,8}|감사합니다|감사드립니다|고맙습니다|(?:.{0,6} )?드림|올림"
    r"|안녕히 계세요|בברכה|תודה(?: רבה)?|בכבוד רב|מע\s*أطيب التحيات"
    r"|مع (?:أطيب )?التحيات|تحياتي|مع خالص التحية|شكرا(?: لك)?|مع الشكر"
    r"|مع فائق الاحترام|trân trọng|thân(?: mến| ái)?|cảm ơn|xin cảm ơn|kính thư"
    r"|salam(?: hangat)?|hormat (?:saya|kami)|terima kasih|(?:good)?bye(?: for now"
    r"| bye)?|farewell|auf wiedersehen|tschüss?|tschau|(?:(?:ganz )?(?:liebe|viele"
    r"|schöne) )?grüßle|(?:liebe |viele )?grüßchen|au revoir|adieu|salud|adiós|adeus"
    r"|até (?:logo|já)|arrivederci|tot ziens|hej ?då|farvel|hyvästi|näkemiin"
    r"|do widzenia|na shledanou|dovidenia|viszlát|viszontlátásra|la revedere|doviđenja"
    r"|nasvidenje|до (?:свидания|побачення)|довиждане|αντίο|görüşmek üzere"
    r"|hoşça ?kal(?:ın)?|lugupidamisega|pagarbiai|ar cieņu|salutacions|salutări|agur"
)

PS = (
    r"(?:p\.?\s?){1,3}s\.?(?:\s?[:.–-]|\s)|ps\b|p\.-s\.|pd\b|p\.\s?d\.|n\.?b\.?\b"
    r"|з\.?ы\.?"
    r"|п\.?\s?с\.?|υ\.?γ\.?|追伸|附言|又及|추신|נ\.?ב\.?|ملاحظة|tái bút|notă|ui\.|dn\b"
)

LIST_FOOTER = (
    "mailing list|mailinglist|listinfo|unsubscrib|received this|receiving this"
    "|receive this|to view this discussion|google groups|groups.google|googlegroups"
    "|groups.io|yahoo groups|yahoogroups|abbestell|abmelden|désabonner|désinscri"
    "|darse de baja|mailman|list archive|to post to this|listserv|erhalten diese"
    "|annulla l|odhlásit|odhlasit|wypis|отписат|afmelden|avregistrera|退订|登録解除"
)
"""In lower case; one of them and a link make a paragraph the footer of a list."""

NOTICE = (
    r"confidential(?:ity)?(?: notice| statement)?\s*[:.]|confidentiality (?:notice"
    r"|note)\b|this (?:e-?mail|message|communication"
    r"|transmission) (?:message )?(?:and any|is (?:confidential|intended (?:only|solely"
    r"|for))|may contain (?:confidential|privileged)|contains (?:confidential"
    r"|privileged|proprietary)|has been (?:scanned|checked))|(?:legal "
    r"|e-?mail )?disclaimer\s*:|the information contained in this"
    r"|diese e-?mail (?:enthält|kann) (?:vertraul|.{0,12}recht)|(?:please )?(?:consider"
    r"|think (?:about|of)) the environment|save a tree|pensez à l.environnement"
    r"|(?:bitte )?denken sie an die umwelt|by (?:replying"
    r"|responding)\b.{0,60}\byou (?:agree|consent)"
    r"|if you are not the intended recipient|(?:aviso|advertencia) (?:legal|de confid)"
    r"|avviso di riservatezza|virus-?free\b|virenfrei\b|garanti sans virus"
    r"|libre de virus|vrij van virussen|sitz der gesellschaft|ce message (?:et toutes"
    r"|est confidentiel)"
)
"""How a notice begins that nobody would write himself."""

WEAK_NOTICE = (
    r"this (?:e-?mail|message|communication)|the (?:contents?|information) "
    r"|diese (?:e-?mail|nachricht)|der inhalt dies|ce (?:message|courriel|mail)"
    r"|este (?:mensaje|correo|e-?mail)|esta mensagem|est[ea] e-?mail|questo messaggio"
    r"|questa e-?mail|dit (?:e-?mail)?bericht|deze e-?mail|detta|denne|tämä"
    r"|ta wiadomość|niniejsz|tato|táto|ez az|acest|bu (?:ileti|e-?posta|mesaj)|это"
    r"|данное|це |цей|това|αυτό|ova|ovaj|本|이 |この|此|הודעה|هذ|thư này|pesan ini"
    r"|email ini|if you have|wenn sie|si vous|si |se |jos |jeśli|pokud|ak |ha |dacă"
    r"|om du|hvis|если|якщо|ако|αν |ako|registered|handelsregister|amtsgericht"
    r"|geschäftsführer|before printing|antes de imprimir|avant d.imprimer"
    r"|prima di stampare"
)
"""How one may begin; it is one if words like those below stand in it too."""

NOTICE_WORDS = (
    r"confidential|privileged|intended|recipient|addressee|unauthor|disclos|prohibit"
    r"|in error|delete|destroy|virus|liab|sender|attachment|vertraulich|bestimmt"
    r"|adressat|empfänger|absender|irrtümlich|löschen|vernichten|unbefugt|unerlaubt"
    r"|nicht gestattet|rechtlich geschützt|confidenc|confidenz|destinata|destinatár"
    r"|autoris|autoriz|erreur|expéditeur|détruire|diffusion|interdit|divulga|prohíb"
    r"|prohib|remitente|elimin|adjunto|remetente|anexo|engano|proíb|proib|riservat"
    r"|cancell|mittente|errore|allegat|vietat|vertrouwelijk|bestemd|afzender|vergissing"
    r"|verwijder|onbevoegd|verboden|bijlage|poufn|adresat|omyłk|nadawc|usunię|załącznik"
    r"|nieuprawn|zabron|důvěrn|adresát|omylem|odesílatel|smaž|neoprávn|zakáz|příloh"
    r"|dôvern|odosiel|vymaž|prílo|bizalmas|címzett|téved|feladó|törö|jogosul|tilos"
    r"|melléklet|confidenț|greșeal|expeditor|șterge|neautoriz|interzis|atașament"
    r"|konfiden|mottagar|misstag|avsändar|radera|obehörig|förbjud|bilag|fortrolig"
    r"|modtager|fejl|afsender|uautoriser|forbudt|vedhæft|mottaker|avsender|vedlegg"
    r"|luottamuk|vastaanotta|vahingossa|lähettäj|poista|luvaton|luvatt|kielletty|liitte"
    r"|gizli|alıcı|yanlışlık|gönderen|silin|izinsiz|yasak|конфиденц|адресат|ошибк"
    r"|отправител|удалите|вложени|несанкцион|запрещ|конфіденц|помилк|відправник|видал"
    r"|вкладен|заборон|поверител|получател|погреш|подател|изтрий|неразреш|забранен"
    r"|приложени|εμπιστευτ|παραλήπτη|κατά λάθος|αποστολέα|διαγρ|απαγορ|συνημμέν"
    r"|povjerlj|primatelj|grešk|pošiljatelj|izbriš|neovlašt|zabranj|prilog|priloz|機密"
    r"|宛先|誤って|削除|送信者|無断|添付|禁|保密|机密|收件人|误收|錯收|错收|誤收|删除"
    r"|刪除|未经授权|未經授權|附件|기밀|수신인|수신자|잘못|삭제|무단|첨부|금지|سري"
    r"|المرسل إليه|الخطأ|حذف|يحظر|مرفقات|חסוי|נמען|בטעות|מחק|הרשאה|אסור|צרופ|bí mật"
    r"|người nhận|nhầm lẫn|xóa|trái phép|đính kèm|nghiêm cấm|rahasia|penerima|kesalahan"
    r"|hapus|tanpa izin|dilarang|lampiran"
)
"""Stems, separated by bars: four of them in a long paragraph make it a notice."""

BANNER = (
    r"caution|warning|attention|external|this (?:e-?mail|message) (?:is|was|came|has)"
    r"|you don['’]t often|achtung|vorsicht|warnung|hinweis|extern|diese (?:e-?mail"
    r"|nachricht)|prudence|avertissement|expéditeur|ce (?:message|mail|courriel)|cet e"
    r"|precaución|atención|advertencia|correo|este (?:correo|mensaje|e-?mail)|cuidado"
    r"|atenção|attenzione|questo|mail esterna|let op|waarschuwing|deze|dit (?:bericht"
    r"|e)|uwaga|ostrzeżenie|wiadomość|varning|advarsel|obs|upozornění|внимание|увага"
)
"""How the notice begins that a server puts above a mail from outside."""

BANNER_WORDS = (
    r"extern|outside|außerhalb|extérieur|hors de|fuera|esterno|buiten|zewnętrz|utanför"
    r"|udenfor|utenfor|внешн|зовнішн/click|klick|clique|clic|klik|kliknij|open|öffne"
    r"|ouvr|abra|abrir|aprire|otwier|öppna|åbn|нажима|открыва/link|attachment|anh[aä]ng"
    r"|anlage|pièces? jointe|adjunto|anexo|allegat|bijlage|załącznik|bilag|vedlegg"
    r"|bifogad|ссылк|вложени"
)
"""Stems: one of each of these three kinds stands in it."""

FOLLOW_UP = (
    r"follow-?up|folgeanfrage|suivi|seguimiento|acompanhamento|vervolg|uppföljning"
    r"|opfølgning|oppfølging|seguito|kontynuacj|продолжен|フォローアップ"
)
"""In the line that a help desk puts above a mail that opens a closed request again."""

GUARD = (
    "avast|avg.com|antivir|virenfrei|virus-free|virus free|scanned by|checked for virus"
    "|auf viren|sans virus|eset|kaspersky|mailscanner|messagelabs|mimecast|norton"
)
"""What a virus scanner says below a mail; in lower case."""

CONTACT_WORDS = (
    r"tel(?:efon[eo]?|\.)?|phone|ph|mobile?|mob|cell|fax|direct|office|telefon|handy"
    r"|tél|téléphone|portable|móvil|telefono|telefone|telemóvel|gsm|mobiel|tlf|mobil"
    r"|kom|puh|тел|моб|факс|τηλ|κιν|電話|携帯|电话|手机|電話|手機|传真|전화|휴대폰"
    r"|טלפון|נייד|هاتف|điện thoại|telp|linkedin|twitter|web(?:site)?|www|e-?mail|skype"
    r"|whatsapp|t|m|f|e|w|p|d|o|c"
)

PLACEHOLDER = (
    r"(?:your|this) (?:e-?mail|mail) (?:client|program|reader|software) (?:does not"
    r"|doesn't|cannot|can't)|does not support html|to view this (?:e-?mail"
    r"|message),? (?:please )?|this (?:message|e-?mail) (?:is|was sent) in html"
    r"|html[- ](?:mail|format|e-?mail)|if you (?:cannot|can't"
    r"|are having trouble) (?:see|view|read)|^\s*\[?(?:cid:|image:)\S*\]?\s*$"
    r"|^\s*<html>\s*$"
)
"""A plain part that only says the text is in the other one."""


DEVICE = (
    r"iphon|ipad|ipod|cell\b|pc\b|android|samsung|galaxy|blackberry|huawei|honor|xiaomi"
    r"|redmi|oppo|vivo|pixel|nokia|lumia|htc|xperia|sony|motorola|oneplus|outlook|yahoo"
    r"|gmail|aol|proton ?mail|proton|thunderbird|spark|superhuman|hey|k-?9|fastmail"
    r"|bluemail|blue mail|aqua ?mail|zoho|gmx|web\.de|tuta(?:nota)?|mailbird|windows"
    r"|mail\.ru|yandex|яндекс|почты?|t-online|telekom|smartphone|smart phone|mobile?"
    r"|mobil\w+|handy|handheld|tablet|phone|telefon\w*|téléphone|teléfono|móvil|celular"
    r"|telemóvel|cellulare|telefono|telefoon|puhelim\w+|телефон\w*|смартфон\w*"
    r"|em client|airmail|mailspring|newton|canary|edison|macbook|mac|palm|treo|wireless"
    r"|device|gerät|qq邮箱|网易|手机|手機|スマートフォン|携帯|휴대|핸드폰|נייד|طبقة"
    r"|هاتفي|điện thoại|ponsel|unterwegs|mail app|sparrow|boxer|nine|missive|libero"
    r"|orange|sfr"
)

SENT_FROM = (
    r"sent from my \S+(?: \S+)?|sent (?:from|via|using|with) (?:mail|outlook|yahoo"
    r"|proton|the new|the all)\b.*|发自我的.*|發自我的.*|從我的.{1,20}傳送"
    r"|(?:내|나의) .{1,15}에서 보냄|provenance\s?: .{3,30}|sent on the go"
)
"""A whole tagline that needs no name of a device."""

FROM_DEVICE = (
    r"from|via|using|with|by|on|through|von|vom|mit|mittels|über|aus|unterwegs|depuis"
    r"|de|du|d['’]\w*|à partir|avec|par|desde|con|mediante|do|da|dal|dalla|dallo"
    r"|tramite|pelo|pela|com|através|usando|no|van|vanaf|vanuit|met|z|ze|za|przy"
    r"|pomocí|přes|cez|zo|från|med|fra|с|со|из|через|з|із|від|от|през|чрез|από|με"
    r"|μέσω|din|cu|prin|iz|sa|s|putem|من|عبر|باستخدام|באמצעות|từ|bằng|qua|dari"
    r"|melalui|iš|des|amb|su|frå|az?|內|내|나의"
)
"""What stands between the verb and the device in a tagline, or begins one."""

FUSED = (
    r"gesendet|envoyé|enviado|inviato|verzonden|wysłan[eo]|odeslán[oa]|odoslan[éáo]"
    r"|küldve|trimis|skickat|sendt|lähetetty|gönderildi|отправлено|надіслано|изпратено"
    r"|poslano|στάλθηκε|送信|发自|發自|發送|发送|傳送|寄出|보냄|보낸|أُ?رسلت?|تم الإرسال"
    r"|נשלח[הא]?|gửi|saadetud|išsiųsta|nosūtīts|ส่งจาก"
)
"""Verbs that need no word before the device: it carries an ending, or none is usual."""

AUXILIARIES = (
    r"habe|hast|hat|haben|habt|hatte|wurden?|worden|ist|sind|war|kann|könnte|soll|muss"
    r"|am|is|are|was|were|be|been|has|have|had|will|would|should|can|could|not|never"
    r"|a|ai|ont|été|est|sont|ha|ho|he|fue|sido|son|foi|foram|heb|heeft|hebben|is|zijn"
    r"|werd|werden|nicht|niet|pas|non|ne|jsem|som|é|è"
)
"""Words of a sentence that a tagline, which has no finite verb, seldom holds."""

THIS_MESSAGE = (
    r"this (?:e-?mail|message|mail) was (?:sent|written|typed) (?:from|on|with|using"
    r"|via|by) (?:my|a|an)\b|diese (?:nachricht|e-?mail|mail) wurde (?:von|mit) (?:mein"
    r"|ein)|ce(?:t e-?mail|tte? mail| message| courriel) a été \w+ (?:de|depuis|avec"
    r"|à partir de) (?:mon|un)|este (?:mensaje|correo|e-?mail) (?:ha sido"
    r"|fue) \w+ (?:desde|con) (?:mi|un)|quest[ao] (?:messaggio|e-?mail"
    r"|mail) è stat[ao] \w+ (?:dal|da|con) (?:mio|un)|dit (?:bericht|e-?mail"
    r"|mail(?:tje)?) (?:is|werd) \w+ (?:vanaf|van|met) (?:mijn|een)|est[ae] (?:mensagem"
    r"|e-?mail) foi \w+ (?:do|de|com) (?:meu|um)|ta wiadomość została \w+ (?:z|za)"
    r"|from my \w+(?: \w+)?$|von meinem \w+$"
)
"""How a tagline begins that is a sentence."""

APOLOGY = (
    r"excuse|forgive|pardon|apolog|brevity|brief|typo|spelling|terse|autocorrect|thumb"
    r"|kürze|tippfehler|entschuldig|rechtschreib|fautes|excus|brièveté|disculp|errores"
    r"|errat|brevidad|scus|errori|brevità|desculp|excuus|typefout|tikfout"
)
"""What a tagline says behind the device, or before."""

APPS = (
    r"typeapp|bluemail|blue mail|polymail|mailtrack|mixmax|missive|superhuman|mymail"
    r"|front|shift|nine|spark|airmail|fastmail|tutanota|tuta|newton|canary|edison|boxer"
    r"|mailbird|mailspring|em client|zoho ?mail|proton ?mail|protonmail|shortwave|hey"
    r"|spike|mimestream|postbox|roundcube|sogo|mailmate|aqua ?mail|k-?9 mail|nylas n1"
    r"|cloudmagic|mailbox|inbox|unibox|vivaldi|betterbird|thunderbird|zimbra|skiff"
    r"|twobird|basecamp|notion mail|mail app|app mail|sailfish|ubuntu touch"
)
"""Programs that put their name below what is sent with them."""
