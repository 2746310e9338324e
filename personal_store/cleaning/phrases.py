"""What mail programs write around a message, in the languages people write in.

Data only, in lower case: the rules that use it are in quotes.py and signatures.py.
"""

WROTE = (
    r"wrote|writes|(?:ge)?schrieb(?:en)?|(?:a )?écrit|escribió|escribiste|ha scritto"
    r"|scrive|escreveu|schreef|geschreven|napisał(?:\(a\)|a)?|pisze"
    r"|nap[ií]sal(?:\(?a\)?)?|napsala?(?:\(a\))?|написа[лв]?[ао]?(?:\(л?а\))?|пишет?"
    r"|skrev|kirjoitti|yazdı|yazmış|írta(?: \([^()]{5,60}\))?|scrie|a scris|έγραψε"
    r"|写道|寫道|書きました|書いた|のメール|작성|쓴 글|viết|menulis|(?:pa)?rašė"
    r"|rakstīja"
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
    r"|expéditeur"
    r"|mittente|remitente|remetente|nadawca|odesílatel|odosielateľ|avsändare|afsender"
    r"|avsender|αποστολέας|από|šalje|pošiljatelj|pošiljalec|מאת|من|từ|người gửi|dari"
    r"|pengirim|saatja|nuo|no|จาก|expeditor(?:ul)?|подател|отправитель|відправник|frá"
    r"|送信元|від кого"
)

HEADER = (
    r"sent|reply-to|reply to|date|to|cc|bcc|subject|sent at|sent on|importance"
    r"|priority"
    r"|attachments?|organi[sz]ation|gesendet(?: am)?|datum|an|betreff|kopie|antwort an"
    r"|wichtigkeit|envoyé(?: le)?|à|objet|pour|date d['’]envoi|répondre à|sujet"
    r"|enviado(?: el)?|enviada(?: em)?|fecha|para|asunto|assunto|data|responder a"
    r"|responder para|inviato(?: il)?|a|oggetto|risposta|verzonden|aan|onderwerp"
    r"|verzonden op|skickat|till|ämne|kopia|sendt|til|emne|dato|wysłano|wysłane|do"
    r"|temat|dw|data wysłania|дата|кому|тема|отправлено|копия|копія|надіслано|относно"
    r"|до|изпратено|дата и час|tarih|kime|konu|gönderildi|gönderme tarihi|bilgi"
    r"|发送时间|发送日期|發送時間|日期|收件人|抄送|主题|主旨|主題|收件者|寄件日期"
    r"|傳送時間"
    r"|副本|送信日時|日時|宛先|件名|보낸 날짜|받는 사람|받는사람|제목|보낸 시간|참조"
    r"|날짜"
    r"|lähetetty|päiväys|vastaanottaja|kopio|aihe|odesláno|komu|předmět|kopie|odoslané"
    r"|odoslaná|predmet|elküldve|küldve|dátum|címzett|tárgy|másolat|trimis|către"
    r"|subiect"
    r"|dată|στάλθηκε|ημερομηνία|προς|θέμα|κοιν|poslano|prima|primatelj|za|kopija"
    r"|zadeva"
    r"|נשלח|תאריך|אל|נושא|עותק|تم الإرسال|أرسلت|التاريخ|إلى|الموضوع|نسخة|đã gửi|ngày"
    r"|đến|chủ đề|tiêu đề|dikirim|tanggal|kepada|ke|perihal|subjek|saadetud|teema"
    r"|išsiųsta|kam|tēma|วันที่|ถึง|เรื่อง|päivämäärä|gönderilen|відправлено|kopi"
    r"|kópia|pre|naslov|subiectul|destinatarul|adresat|copie(?: à)?|日付|送信先"
    r"|kopie \(cc\)|másolatot kap|odgovori na|odpověď na|svar til|antwoord aan"
    r"|vastaus|válaszcím|rispondi a|odpowiedź-do|răspuns către|ответ-кому"
    r"|odpovedať-pre|svara till|yanıt adresi|кому відповісти"
)

SUBJECT = (
    r"subject|betreff|objet|sujet|asunto|assunto|oggetto|onderwerp|temat|předmět"
    r"|predmet|tárgy|subiect|ämne|emne|aihe|konu|тема|относно|θέμα|件名|主题|主旨|主題"
    r"|제목"
    r"|נושא|الموضوع|chủ đề|tiêu đề|perihal|subjek|zadeva|teema|tēma|เรื่อง|naslov"
    r"|subiectul"
)

ORIGINAL = (
    r"original (?:message|appointment|e-?mail)|original|forwarded (?:message|mail)"
    r"|forwarded by.*|reply message|message d.origine|message original|message initial"
    r"|this is a forwarded message|message transmis|mail original"
    r"|courriel d.origine|ursprünglicher termin"
    r"|edelleenlähetetty viesti|iletilmiş mesaj|перенаправлен\w+ (?:повідомлення"
    r"|сообщение)|treść przekazanej wiadomości|välitetty viesti.*|pesan terusan"
    r"|wiadomość przesłana dalej|メッセージを転送|προωθημένο μήνυμα"
    r"|message transféré|message réexpédié|e-?mail d.origine|courriel original"
    r"|ursprüngliche (?:nachricht|mail|e-?mail)|weitergeleitete (?:nachricht|e-?mail)"
    r"|original-?nachricht|antwort nachricht|originalnachricht|mensaje original"
    r"|mensaje reenviado|mensagem original|mensagem (?:re)?encaminhada"
    r"|messaggio originale|messaggio inoltrato|oorspronkelijk bericht"
    r"|doorgestuurd bericht|origineel bericht|ursprungligt meddelande"
    r"|originalmeddelande"
    r"|vidarebefordrat meddelande|oprindelig (?:meddelelse|besked)|original meddelelse"
    r"|videresendt (?:meddelelse|melding|besked)|opprinnelig melding"
    r"|alkuperäinen viesti|välitetty viesti|(?:treść )?oryginaln\w+ wiadomo\w+"
    r"|wiadomość oryginalna|wiadomość przekazana|przekazana wiadomość|původní zpráva"
    r"|původní e-?mail|přeposlaná zpráva|pôvodná správa|preposlaná správa"
    r"|исходное сообщение|пересылаемое сообщение|пересланное сообщение"
    r"|переадресованное сообщение|оригинальное сообщение|початкове повідомлення"
    r"|оригінальне повідомлення|переслане повідомлення|първоначално съобщение"
    r"|оригинално съобщение|препратено съобщение|orijinal (?:mesaj|ileti|e-posta)"
    r"|özgün (?:ileti|mesaj)|iletilen (?:ileti|mesaj)|yönlendirilen ileti"
    r"|eredeti üzenet|továbbított üzenet|mesaj(?:ul)? original|mesaj redirecționat"
    r"|mesaj inițial|αρχικό μήνυμα|προωθημένο μήνυμα|izvorna poruka|originalna poruka"
    r"|proslijeđena poruka|izvirno sporočilo|原始邮件|转发邮件|转发的邮件|轉寄郵件"
    r"|轉寄的郵件|原始郵件|原始信件|元のメッセージ|元のメール|転送メッセージ"
    r"|転送されたメッセージ|원본 ?메시지|원본 ?메일|전달된 ?메시지|전달 ?메시지"
    r"|הודעה מקורית|הודעה שהועברה|الرسالة الأصلية|رسالة معاد توجيهها|رسالة أصلية"
    r"|thư gốc|tin nhắn gốc|thư được chuyển tiếp|pesan asli|pesan (?:yang )?diteruskan"
)
"""Between dashes: what follows is somebody else's."""

REPLY_ABOVE = (
    r"(?:type|write|enter|post)? ?(?:your )?(?:reply|response|answer|respond)"
    r"(?: to this e-?mail)? (?:above|over) (?:this|the) line"
    r"|antworten? (?:sie )?(?:bitte )?"
    r"(?:ober|über)?(?:halb)? dieser (?:zeile|linie)|antwort (?:ober"
    r"|über)(?:halb)? dieser"
    r" (?:zeile|linie)|au-dessus de cette ligne|(?:encima|arriba) de esta l[ií]nea"
    r"|acima desta linha|sopra (?:di )?questa (?:linea|riga)|boven deze (?:regel|lijn)"
    r"|powyżej tej linii|över (?:den här|denna) raden|over denne linje"
    r"|выше этой (?:строки|линии)"
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
    r"|verzonden"
    r"|verstuurd|gestuurd|wysłan[eo]|odeslán[oa]|odoslan[éáo]|küldve|küldtem|trimis"
    r"|skickat|skickad|sendt|lähetetty|gönderildi|gönderilmiştir|отправлено|отослано"
    r"|надіслано|відправлено|изпратено|poslano|poslato|στάλθηκε|εστάλη|送信|发自|發自"
    r"|发送|傳送|寄出|보냄|보낸|أُ?رسلت?|تم الإرسال|נשלח[הא]?|(?:đã )?gửi|dikirim"
    r"|terkirim"
    r"|enviat"
    r"|saadetud|išsiųsta|nosūtīts|ส่งจาก"
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
    r"(?:with )?(?:my |the )?(?:best|kind|kindest|warm|warmest|many|good)?\s*"
    r"(?:regards|wishes|greetings)|best|all (?:the|my) best|(?:very )?best(?: to you)?"
    r"|with (?:kind|best|warm) regards|cheers|ta|rgds|br|kr|thx|tia|xoxo|xx+|x"
    r"|(?:many |with )?thanks(?: again| so much| a lot| very much| in advance| for \w+"
    r"| and regards| (?:and|&) best regards)?|thank you(?: again| so much| very much"
    r"| in advance)?|sincerely(?: yours)?|yours(?: sincerely| truly| faithfully"
    r"| ever)?"
    r"|cordially|respectfully(?: yours)?|(?:lots of |much |with )?love|hugs|take care"
    r"|see you(?: soon| then| later)?|talk soon|speak soon|until then|have a (?:good"
    r"|nice"
    r"|great|lovely) (?:day|weekend|evening|week|one)|warmly|best of luck"
    r"|(?:mit )?(?:freundliche[nm]?|beste[nm]?|viele[nm]?|liebe[nm]?|herzliche[nm]?"
    r"|schöne[nm]?|sonnige[nm]?|kollegiale[nm]?)(?: und \w+)? gr(?:ü|ue|u)(?:ß|ss)e?n?"
    r"|mfg|vg|lg|bg|hg|gruß|grüße|gruss|grüsse|herzlichst|liebe grüsse|bis (?:dann"
    r"|bald"
    r"|morgen|später)|danke(?: und .{0,25})?|vielen dank(?: und .{0,25})?"
    r"|hochachtungsvoll"
    r"|ciao|servus|alles gute|(?:bien |très )?cordialement|bien à (?:vous|toi)"
    r"|amicalement|bises|bisous|amitiés|(?:meilleures |sincères )?salutations"
    r"(?: distinguées)?|merci(?: d'avance| beaucoup| par avance)?|à bientôt|cdlt|crdlt"
    r"|belle journée|bonne (?:journée|soirée)|(?:un |muchos )?saludos?(?: cordiales)?"
    r"|(?:un )?(?:cordial|afectuoso) saludo|atentamente|atte"
    r"|(?:un )?(?:fuerte )?abrazos?"
    r"|besos|gracias(?: de antemano)?|(?:muchas |mil )gracias|hasta (?:pronto|luego)"
    r"|cordialmente|cordiali saluti|distinti saluti|(?:un |tanti )?(?:caro |cari "
    r"|cordiale )"
    r"?salut[io]|a presto|grazie(?: mille)?|un abbraccio|buona giornata"
    r"|atenciosamente|(?:com os )?(?:melhores |meus |os melhores )?cumprimentos|att"
    r"|(?:um )?(?:grande )?abraços?|(?:muito )?obrigad[oa]|beijos|até breve|saudações"
    r"|(?:met )?(?:vriendelijke|hartelijke|beste|lieve)? ?groet(?:en|jes)?|mvg|bedankt"
    r"|alvast bedankt|dank je(?: wel)?|liefs|hoogachtend|med vänliga? hälsning(?:ar)?"
    r"|(?:vänliga |bästa |varma |många )?hälsningar|vänligen|mvh|hälsn"
    r"|tack(?: på förhand)?"
    r"|kram|(?:med )?(?:venlig|vennlig|kærlig|bedste|beste|mange) ?hilsen(?:er)?"
    r"|(?:de |med )?(?:bedste|beste|mange|venlige|vennlige) hilsn?er|hilsen|mange tak"
    r"|vh|dbh|tak|takk|på forhånd tak|klem|kh|(?:ystävällisin |parhain |lämpimin )?"
    r"terveisin|terv|terkuin|t|kiitos|kiittäen|pozdrawiam(?: serdecznie)?"
    r"|(?:serdecznie |serdeczne )?pozdrow(?:ienia|ieniami)|z poważaniem|dziękuję"
    r"|dzięki"
    r"|z wyrazami szacunku|(?:s |se )?(?:přátelským |srdečným |uctivým )?pozdrav(?:em"
    r"|om)?"
    r"|hezký den|s úctou|děkuji|díky|zdravím|ďakujem|s pozdravom"
    r"|(?:baráti |szívélyes |tisztelettel )?üdvözlettel|tisztelettel|üdv|köszönettel"
    r"|köszönöm|puszi|cu (?:stimă|drag|respect)|(?:cele mai bune "
    r"|toate cele bune)urări"
    r"|mulțumesc|numai bine|o zi bună|saygılarım(?:la|ızla)|sevgiler(?:le|imle)?"
    r"|selamlar|teşekkürler|iyi (?:günler|çalışmalar)|(?:с|з) (?:уважением|повагою"
    r"|любовью)"
    r"|с наилучшими пожеланиями|всего (?:доброго|хорошего)|спасибо"
    r"|(?:най-)?(?:добри )?"
    r"поздрави|с уважение|благодаря|дякую|щиро|до встречи|με εκτίμηση|φιλικά"
    r"|χαιρετισμούς"
    r"|(?:με )?φιλικούς χαιρετισμούς|ευχαριστώ|(?:srdačan |lijep |lep )?pozdrav"
    r"|(?:s )?poštovanjem|hvala|lp|lijepi pozdrav|よろしくお願い(?:いた)?します|敬具"
    r"|以上"
    r"|どうぞよろしくお願い(?:いた|致)します|宜しくお願い(?:いた|致)?します|では|草々"
    r"|此致(?:敬礼|敬禮)?|敬礼|敬禮|祝好|谢谢|謝謝|顺祝商祺|敬祝.{0,6}|敬上|順頌商祺"
    r"|祝.{1,8}|감사합니다|감사드립니다|고맙습니다|(?:.{0,6} )?드림|올림|안녕히 계세요"
    r"|בברכה|תודה(?: רבה)?|בכבוד רב|מע\s*أطيب التحيات|مع (?:أطيب )?التحيات|تحياتي"
    r"|مع خالص التحية|شكرا(?: لك)?|مع الشكر|مع فائق الاحترام|trân trọng|thân(?: mến"
    r"| ái)?"
    r"|cảm ơn|xin cảm ơn|kính thư|salam(?: hangat)?|hormat (?:saya|kami)|terima kasih"
    r"|(?:good)?bye(?: for now| bye)?|farewell|auf wiedersehen|tschüss?|tschau"
    r"|(?:(?:ganz )?(?:liebe|viele|schöne) )?grüßle|(?:liebe |viele )?grüßchen"
    r"|au revoir|adieu|salud|adiós|adeus|até (?:logo|já)"
    r"|arrivederci|tot ziens|hej ?då|farvel|hyvästi|näkemiin|do widzenia"
    r"|na shledanou|dovidenia|viszlát|viszontlátásra|la revedere|doviđenja|nasvidenje"
    r"|до (?:свидания|побачення)|довиждане|αντίο|görüşmek üzere|hoşça ?kal(?:ın)?"
    r"|lugupidamisega|pagarbiai|ar cieņu|salutacions|salutări|agur"
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
    r"|note)\b"
    r"|this (?:e-?mail|message|communication|transmission) (?:message )?(?:and any"
    r"|is (?:confidential|intended (?:only|solely|for))|may contain (?:confidential"
    r"|privileged)|contains (?:confidential|privileged|proprietary)"
    r"|has been (?:scanned"
    r"|checked))|(?:legal |e-?mail )?disclaimer\s*:"
    r"|the information contained in this|diese e-?mail (?:enthält|kann) (?:vertraul"
    r"|.{0,12}"
    r"recht)|(?:please )?(?:consider|think (?:about|of)) the environment|save a tree"
    r"|pensez à l.environnement|(?:bitte )?denken sie an die umwelt"
    r"|by (?:replying|responding)\b.{0,60}\byou (?:agree|consent)"
    r"|if you are not the intended recipient|(?:aviso|advertencia) (?:legal|de confid)"
    r"|avviso di riservatezza|virus-?free\b|virenfrei\b|garanti sans virus"
    r"|libre de virus"
    r"|vrij van virussen|sitz der gesellschaft|ce message (?:et toutes"
    r"|est confidentiel)"
)
"""How a notice begins that nobody would write himself."""

WEAK_NOTICE = (
    r"this (?:e-?mail|message|communication)|the (?:contents?|information) |diese "
    r"(?:e-?mail|nachricht)|der inhalt dies|ce (?:message|courriel|mail)"
    r"|este (?:mensaje"
    r"|correo|e-?mail)|esta mensagem|est[ea] e-?mail|questo messaggio|questa e-?mail"
    r"|dit (?:e-?mail)?bericht|deze e-?mail|detta|denne|tämä|ta wiadomość|niniejsz"
    r"|tato"
    r"|táto|ez az|acest|bu (?:ileti|e-?posta|mesaj)|это|данное|це |цей|това|αυτό|ova"
    r"|ovaj"
    r"|本|이 |この|此|הודעה|هذ|thư này|pesan ini|email ini|if you have|wenn sie"
    r"|si vous|si "
    r"|se |jos |jeśli|pokud|ak |ha |dacă|om du|hvis|если|якщо|ако|αν |ako|registered"
    r"|handelsregister|amtsgericht|geschäftsführer|before printing|antes de imprimir"
    r"|avant d.imprimer|prima di stampare"
)
"""How one may begin; it is one if words like those below stand in it too."""

NOTICE_WORDS = (
    r"confidential|privileged|intended|recipient|addressee|unauthor|disclos|prohibit"
    r"|in error|delete|destroy|virus|liab|sender|attachment"
    r"|vertraulich|bestimmt|adressat|empfänger|absender|irrtümlich|löschen|vernichten"
    r"|unbefugt|unerlaubt|nicht gestattet|rechtlich geschützt|confidenc|confidenz"
    r"|destinata"
    r"|destinatár|autoris|autoriz|erreur|expéditeur|détruire|diffusion|interdit"
    r"|divulga|prohíb|prohib|remitente|elimin|adjunto|remetente|anexo|engano|proíb"
    r"|proib"
    r"|riservat|cancell|mittente|errore|allegat|vietat|vertrouwelijk|bestemd|afzender"
    r"|vergissing|verwijder|onbevoegd|verboden|bijlage|poufn|adresat|omyłk|nadawc"
    r"|usunię"
    r"|załącznik|nieuprawn|zabron|důvěrn|adresát|omylem|odesílatel|smaž|neoprávn|zakáz"
    r"|příloh|dôvern|odosiel|vymaž|prílo|bizalmas|címzett|téved|feladó|törö|jogosul"
    r"|tilos"
    r"|melléklet|confidenț|greșeal|expeditor|șterge|neautoriz|interzis|atașament"
    r"|konfiden|mottagar|misstag|avsändar|radera|obehörig|förbjud|bilag|fortrolig"
    r"|modtager|fejl|afsender|uautoriser|forbudt|vedhæft|mottaker|avsender|vedlegg"
    r"|luottamuk|vastaanotta|vahingossa|lähettäj|poista|luvaton|luvatt|kielletty"
    r"|liitte"
    r"|gizli|alıcı|yanlışlık|gönderen|silin|izinsiz|yasak|конфиденц|адресат|ошибк"
    r"|отправител|удалите|вложени|несанкцион|запрещ|конфіденц|помилк|відправник|видал"
    r"|вкладен|заборон|поверител|получател|погреш|подател|изтрий|неразреш|забранен"
    r"|приложени|εμπιστευτ|παραλήπτη|κατά λάθος|αποστολέα|διαγρ|απαγορ|συνημμέν"
    r"|povjerlj"
    r"|primatelj|grešk|pošiljatelj|izbriš|neovlašt|zabranj|prilog|priloz|機密|宛先"
    r"|誤って|削除"
    r"|送信者|無断|添付|禁|保密|机密|收件人|误收|錯收|错收|誤收|删除|刪除|未经授权"
    r"|未經授權"
    r"|附件|기밀|수신인|수신자|잘못|삭제|무단|첨부|금지|سري|المرسل إليه|الخطأ|حذف|يحظر"
    r"|مرفقات|חסוי|נמען|בטעות|מחק|הרשאה|אסור|צרופ|bí mật|người nhận|nhầm lẫn|xóa"
    r"|trái phép|đính kèm|nghiêm cấm|rahasia|penerima|kesalahan|hapus|tanpa izin"
    r"|dilarang"
    r"|lampiran"
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
    r"|udenfor|utenfor|внешн|зовнішн"
    r"/click|klick|clique|clic|klik|kliknij|open|öffne|ouvr|abra|abrir|aprire"
    r"|otwier|öppna|åbn|нажима|открыва"
    r"/link|attachment|anh[aä]ng|anlage|pièces? jointe|adjunto|anexo|allegat|bijlage"
    r"|załącznik|bilag|vedlegg|bifogad|ссылк|вложени"
)
"""Stems: one of each of these three kinds stands in it."""

FOLLOW_UP = (
    r"follow-?up|folgeanfrage|suivi|seguimiento|acompanhamento|vervolg|uppföljning"
    r"|opfølgning|oppfølging|seguito|kontynuacj|продолжен|フォローアップ"
)
"""In the line that a help desk puts above a mail that opens a closed request again."""

GUARD = (
    "avast|avg.com|antivir|virenfrei|virus-free|virus free|scanned by"
    "|checked for virus"
    "|auf viren|sans virus|eset|kaspersky|mailscanner|messagelabs|mimecast|norton"
)
"""What a virus scanner says below a mail; in lower case."""

CONTACT_WORDS = (
    r"tel(?:efon[eo]?|\.)?|phone|ph|mobile?|mob|cell|fax|direct|office|telefon|handy"
    r"|tél"
    r"|téléphone|portable|móvil|telefono|telefone|telemóvel|gsm|mobiel|tlf|mobil|kom"
    r"|puh|тел|моб|факс|τηλ|κιν|電話|携帯|电话|手机|電話|手機|传真|전화|휴대폰|טלפון"
    r"|נייד"
    r"|هاتف|điện thoại|telp|linkedin|twitter|web(?:site)?|www|e-?mail|skype|whatsapp"
    r"|t|m|f|e|w|p|d|o|c"
)

PLACEHOLDER = (
    r"(?:your|this) (?:e-?mail|mail) (?:client|program|reader|software) "
    r"(?:does not|doesn't|cannot|can't)"
    r"|does not support html|to view this (?:e-?mail|message),? (?:please )?"
    r"|this (?:message|e-?mail) (?:is|was sent) in html|html[- ](?:mail|format"
    r"|e-?mail)"
    r"|if you (?:cannot|can't|are having trouble) (?:see|view|read)"
    r"|^\s*\[?(?:cid:|image:)\S*\]?\s*$|^\s*<html>\s*$"
)
"""A plain part that only says the text is in the other one."""


DEVICE = (
    r"iphon|ipad|ipod|cell\b|pc\b|android|samsung|galaxy|blackberry|huawei|honor"
    r"|xiaomi|redmi|oppo"
    r"|vivo|pixel|nokia|lumia|htc|xperia|sony|motorola|oneplus|outlook|yahoo|gmail"
    r"|aol|proton ?mail|proton|thunderbird|spark|superhuman|hey|k-?9|fastmail|bluemail"
    r"|blue mail|aqua ?mail|zoho|gmx|web\.de|tuta(?:nota)?|mailbird|windows|mail\.ru"
    r"|yandex|яндекс|почты?|t-online|telekom|smartphone|smart phone|mobile?|mobil\w+"
    r"|handy|handheld|tablet|phone|telefon\w*|téléphone|teléfono|móvil|celular"
    r"|telemóvel"
    r"|cellulare|telefono|telefoon|puhelim\w+|телефон\w*|смартфон\w*|em client|airmail"
    r"|mailspring|newton|canary|edison|macbook|mac|palm|treo|wireless|device|gerät"
    r"|qq邮箱|网易|手机|手機|スマートフォン|携帯|휴대|핸드폰|נייד|طبقة|هاتفي"
    r"|điện thoại"
    r"|ponsel|unterwegs|mail app|sparrow|boxer|nine|missive|libero|orange|sfr"
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
    r"|via"
    r"|by) (?:my|a|an)\b|diese (?:nachricht|e-?mail|mail) wurde (?:von|mit) (?:mein"
    r"|ein)"
    r"|ce(?:t e-?mail|tte? mail| message| courriel) a été \w+ (?:de|depuis|avec"
    r"|à partir"
    r" de) (?:mon|un)|este (?:mensaje|correo|e-?mail) (?:ha sido|fue) \w+ (?:desde|con)"
    r" (?:mi|un)|quest[ao] (?:messaggio|e-?mail|mail) è stat[ao] \w+ (?:dal|da"
    r"|con) (?:mio"
    r"|un)|dit (?:bericht|e-?mail|mail(?:tje)?) (?:is|werd) \w+ (?:vanaf|van"
    r"|met) (?:mijn"
    r"|een)|est[ae] (?:mensagem|e-?mail) foi \w+ (?:do|de|com) (?:meu|um)"
    r"|ta wiadomość została \w+ (?:z|za)|from my \w+(?: \w+)?$|von meinem \w+$"
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
