"""What programs and devices write about themselves below a message.

Data only, in lower case: the rules that use it are in footers.
"""

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
