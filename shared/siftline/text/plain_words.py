"""Words that are no stop words and yet never say by themselves what a text is about, a language each.

Numbers and units, the calendar, verbs and participles that every story has, adjectives of size, time and worth, and
nouns that fit everywhere. Where a form is more often a telling noun (``strike``, ``Streik``, ``vol``) it is left out.
General knowledge, written for this project; a language that has no list has the numbers of all.
"""

from functools import cache

_NUMBERS = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million millions
billion billions trillion dozen dozens half third quarter fifth sixth seventh eighth ninth tenth twice eins zwei drei
vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig
dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert hunderte tausend tausende million millionen milliarde
milliarden dutzend dutzende hälfte drittel viertel dritte dritten vierte vierten fünfte fünften quatre cinq sept huit
neuf dix onze douze treize quatorze quinze seize vingt trente quarante cinquante soixante cent cents centaine centaines
mille milliers millier millions milliard milliards tiers quart moitié dizaine dizaines douzaine vingtaine trentaine
troisième quatrième cinquième sixième cuatro cinco seis siete ocho nueve diez once doce trece catorce quince veinte
treinta cuarenta cincuenta sesenta setenta ochenta noventa cien ciento cientos mil miles millar millares millón
millones docena docenas tercio cuarto mitad tercer tercera cuarta quinta quinto quattro cinque sette otto nove dieci
undici dodici tredici quattordici quindici sedici venti trenta quaranta cinquanta sessanta settanta ottanta novanta
cento centinaia mila migliaia milione milioni miliardo miliardi metà terzo terza quatro sete oito dez doze treze
catorze quatorze quinze dezasseis dezesseis vinte trinta quarenta cinquenta sessenta setenta oitenta noventa cem cento
centenas milhar milhares milhão milhões bilhão bilhões metade terço terceiro terceira twee drie vijf zes zeven acht
negen tien elf twaalf dertien veertien vijftien zestien twintig dertig veertig vijftig zestig zeventig tachtig negentig
honderd honderden duizend duizenden miljoen miljoenen miljard tientallen helft derde två tre fyra fem sju åtta nio tio
tjugo hundra tusen miljon miljoner fire syv otte ni ti hundre tusind tusinder dwa trzy cztery pięć sześć siedem osiem
dziewięć dziesięć sto tysiąc tysięcy milion milionów
"""
_WORDS = {
    "en": """
second seconds minute minutes hour hours morning afternoon evening night noon midnight weekend month months decade
decades century monday tuesday wednesday thursday friday saturday sunday january february march april may june july
august september october november december spring summer autumn winter kilometre kilometres kilometer kilometers metre
metres meter meters centimetre centimetres mile miles foot feet inch inches kilo kilos kilogram kilograms gram grams
tonne tonnes ton tons litre litres liter liters degree degrees euro euros dollar dollars pound pounds add added adds
agree agreed allow allowed allows appear appears arrive arrived arrives begin begins began begun believe believed
believes bring brings brought build built buy buys bought carry carried carrying catch caught cause caused change
changed choose chose chosen claim claimed claims close closed closes collect cost count counted cover covered cut
decide decided drive driven double doubled doubles drop dropped drops eat expect expected explain explained fall fallen
falls fell feel felt fill filled find finds finish finished follow followed found gave grow grows grown grew halt hand
happen happened hear heard held help helped helps hide hit hits hold holds holding hope hoped hopes hurt include join
joined keep keeps kept killed lay lead leads learn learned leave leaves leaving lend let lets lie listen lived lives
lock lose loses losing lost lower mark marked meet meets meeting met miss missed move moved moves moving open opened
opens opening paid pass passed pay pays paying pick picked picks pick play played plan plans planned prepare produce
promise promised pull pulled push pushed raise raised raises ran reach reached reaches read reads reduce remain
remained remains replace report reported reports return returned returns rise rises rising rose run runs running sell
sells sold send sends sent set sets share shared shares sit sits sitting slow speak spend spent spill spills spoke
spread stand stands stay stayed stays stood stop stopped stops start started starts suffer surprise surprised talk
talked tested think thought threw throw tried try trying turn turned turns understand visit wait waited waiting wake
walk walked walking walks wanted warn warned warns watch watched win wins winning won wear work worked works working
wrote write written able alone available bad best better big bigger biggest bright broad busy calm calmer certain cheap
clean clear cold common dark dear deep different difficult dry early earlier easy empty enough entire extra false fast
final fine free fresh full further general gentle happy hard heavy high higher highest hot huge important innocent
large larger largest late later latest latter light likely local low main major minor modern narrow nearby noisy open
ordinary particular phantom plain poor possible previous public quick quiet ready real rich right safe safely serious
sharp short simple single slight small smaller soft special strange strong sudden sure sweet tall thick thin tiny true
usual various warm weak wet whole wide wild wrong young younger old older oldest afraid almost alike aloud anyone
anything everyone everybody everything nobody somebody someone something anybody abroad ahead apart aside forward home
inland slowly nearly simply finally quickly area areas case cases course end ends example fact facts group groups idea
issue kind lack level line lines list lot matter mean member members moment name named names number numbers order pair
part parts piece pieces place places plus point points problem problems question questions reason reasons result
results rest row side sides sort step steps story stories thing time total type use version view way ways while word
words man men woman women person people figure figures side size amount
""",
    "fr": """
seconde secondes minute minutes heure heures matin matinée midi soir soirée nuit nuits week-end semaine semaines mois
décennie décennies siècle siècles lundi mardi mercredi jeudi vendredi samedi dimanche janvier février avril mai juin
juillet août septembre octobre novembre décembre printemps été automne hiver kilomètre kilomètres mètre mètres
centimètre centimètres kilo kilos gramme grammes tonne tonnes litre litres degré degrés euro euros dollar dollars
hectare hectares accompagne accueille accuse affiche affirme affirmé aide ajoute ajouté annonce annoncé annoncée
apporte apprend apprendre apprennent appris arrive arrivé arrivée arrivent assure assuré atteint attend attendent
attendre attendu augmente avance baisse baissé bat battu boit change changé cherche choisi choisit commence commencé
commencer compte comptent conduit connaît connu connue contient continue convient coupe couronne couronné court croit
débordé déborde décide décidé décidé déclare déclaré découvert découverte demande demandé demeure descend descendu
dévoile devenu devenue devient devra devrait dormait dort double dure écrit écrite écrire élu entend entendu entre
entré envoie envoyé espère établi étend étudie évacué évacuée évacués évacuées évite explique expliqué ferme fermé
fermée fini finit fixe formé gagne gagné gagner garde gardé grandi intrigue invite joue joué laisse laissé lance lancé
lève levé lit lu manque marche menace mène mesure mesuré met mettre meurt mis mise monte monté montre montré mort naît
né née note occupe offre orné ornée ouvre ouvert ouverte ouvrir parle parlé part parti partie passe passé passée pense
perd perdre perdu perdue perdus permet permis pèse place plonge plongé porte porté pose posé poursuit prend prendre
prépare présente prêt prêté prévoit prévu prévue prévus produit propose protège publie publié quitte raconte rappelle
rapporte rapporté réalise reçoit reconnu reçu renoncé reçue réduit refuse regarde rejoint remet remplace remporte
remporté rend rendre rendu rentre repose reprend reprendre répond reste restent résout résolu retire retiré retourne
retrouve retrouvé retrouvée retrouver réussi réussit revient revenu révèle rouvre sait sauve sauvé sert servi signe
signé sort sorti souhaite soutient suit suivi suivre surprend tient tenu tire tiré tombe tombé touche tourne tourné
tournée traverse traversé trouve trouvé trouver tué tués tuée utilise utilisé vaut vend vendu vendue venait venu venue
venus veut vide vient viennent vise vit vivant vole volé volée volés volées vole voit voir vu vue tiennent tenir
souffre parcourt raison ancien ancienne anciens anciennes beau belle bon bonne bons bonnes chaud court courte dernier
dernière derniers dernières difficile entier entière facile faible fort forte froid gros grosse haut haute hauts
importante important jeune jeunes juste large léger libre local locale long longue lourd lourde mauvais meilleur
meilleure meilleurs moindre moyen neuf nombreux nombreuses nouveaux nouvelles ordinaire pareil petit petite petits
petites plat plate plein pleine possible pourtant prochain prochaine propre public publique rare récent résistant seul
seule seuls simple sûr tard tiède total vaste vieil vieille vieilles vieux vrai vraie vif vide grands grandes cas chose
choses côté début doute effet ensemble exemple façon fait faits fin fond groupe idée lieu lieux ligne manière membre
membres moment monde niveau nom noms nombre objet ordre partie point points problème quantité question rang reste
résultat sens sorte sortie suite temps tête titre tour type vie voix homme hommes femme femmes gens personne personnes
""",
    "de": """
sekunde sekunden minute minuten stunde stunden morgen vormittag mittag nachmittag abend abends nacht nächte tag tage
tagen tages woche wochen wochenende monat monate monaten jahr jahres jahrzehnt jahrzehnte jahrzehnten jahrhundert
jahrhunderte montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag januar jänner februar märz april mai
juni juli august september oktober november dezember frühling frühjahr sommer herbst winter kilometer kilometern meter
metern zentimeter millimeter kilo kilogramm gramm tonne tonnen liter litern grad euro euros dollar cent quadratmeter
hektar uhr beginn ende fall fälle fällen beispiel teil teile teilen grund gründe art arten weise zeit zeiten mal seite
seiten stelle stellen frage fragen zahl zahlen sache sachen ding dinge mensch menschen leute mann männer männern frau
frauen person personen zusammenhang möglichkeit anfang folge folgen platz rest reihe schritt schritte punkt punkte
stück stücke wort worte wörter name namen gruppe gruppen mitte angaben stand lage ziel rolle form formen verletzte
verletzten ganze ganzen anderen menge höhe tiefe länge größe breite stocken
""",
    "es": """
segundo segundos minuto minutos hora horas mañana tarde noche noches mediodía madrugada semana semanas mes meses década
décadas siglo siglos lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio
agosto septiembre setiembre octubre noviembre diciembre primavera verano otoño invierno kilómetro kilómetros metro
metros centímetro centímetros kilo kilos gramo gramos tonelada toneladas litro litros grado grados euro euros dólar
dólares abre abrió abrir acaba acabó afirma afirmó alcanza alcanzó añade añadió anuncia anunció aparece aprende asegura
aseguró ayuda ayudar baja bajó bate batió busca buscan buscar cae cayó cambia cambió cambiar canta cierra cierran
comienza comenzó compra conoce conquista conquistó consigue consiguió continúa corre corrió correr cree creen crece
cruza cruzó cuenta cumple cumplió cura curó da dan dar debe deben decir deja dejó dejar derrota derrotó descubre
descubrió destapan dirá dopaba duda duerme duró empezó empieza encontró encuentra entra entró entregó escribe escribió
espera esperan estaría estuvo evita existe explica explicó falta firma firmó ganó gana ganar guarda habla habló hecho
hizo indica intenta juega jugó lanza lanzó leer lee levanta levantó levantar llega llegó llegan llegar lleva llevó
llevar llora logra logró manda marca marcó mira muere murió muestra nace nació necesita nota ocurre ofrece oye paga
pagan pagar parar pasa pasó pasar pedir perdido perdió pide piden piensa pierde pone poner ponen preguntó prepara
presentó prohíbe puso queda quedó quedan quiere quieren quiso recibe recibió recoge recuerda regresa repite reparte
resulta rompe rompen rompió sabe sabía sale salió salir sigue siguió siguen suben sube subió suele suma supo temen
tenía termina terminó tocó toma tomó trabaja trae usa utiliza va van vale vende vende ven venció vence vendió ver viene
vienen vino visto vive viven vivir vio volver volvió vuelve vuelven vuela encontrado hallado hallada perdida roto
abierto abierta cerrado pedido puesto alta altas alto altos antiguo antigua baja bajo buen buena buenas bueno buenos
claro corto corta distinto difícil fácil fuerte grande última último últimos últimas joven jóvenes larga largo lento
lenta libre local mala malo mayor mayores mediano menor menores nuevos nuevas pequeña pequeño pequeños pequeñas
peor posible propia propio próximo próxima pronto público rápido real reciente seco segura seguro simple sola solo
últimamente vieja viejo viejos verdadero único única alguien cabeza caso casos cosa cosas ejemplo fin final fondo forma
gente grupo hecho hombre hombres idea lado línea lugar manera medio miembro miembros momento mujer mujeres mundo nivel
nombre número orden parte partes persona personas problema punto puntos razón resto resultado tiempo tipo título vida
vista voz menú nado mano segunda
""",
    "it": """
secondo secondi minuto minuti ora ore mattina mattino mezzogiorno pomeriggio sera notte notti settimana settimane mese
mesi decennio secolo secoli lunedì martedì mercoledì giovedì venerdì sabato domenica gennaio febbraio marzo aprile
maggio giugno luglio agosto settembre ottobre novembre dicembre primavera estate autunno inverno chilometro chilometri
metro metri centimetri chilo chili grammi tonnellata tonnellate litro litri gradi euro dollari afferma aggiunge
annuncia annunciato apre aperto arriva arrivato aspetta attende attendere aumenta avviene cade cambia cambiato cerca
chiede chiesto chiude chiuso comincia conosce continua corre costa crede cresce dato decide deciso deve dice dicono
entra esce fanno fatto ferma finito finisce firma gira guarda inizia iniziato lascia lasciato lavora legge mangia manca
mette mettere messo mostra muore nasce nato offre paga parla parte partito passa passato pensa perde perso porta
portato prende preso presenta prova racconta raccontato resta ricorda rimane rimasto risale risaliva riapre risponde
ritorna ritrova ritrovata ritrovato ritrovati riuscito rotto sale salito sanno scende scritto segue sembra sente serve
spiega spiegato tiene torna tornato trova trovato trovata usa vale vede vedere venduto vengono venuto viene vince vinto
vive vuole vogliono alta alto altri antica antico basso bassa bella bello buona buono giovane giovani grande grandi
locale lunga lungo nuovi nuove piccola piccolo piccoli prossima prossimo pubblico solo sola ultima ultimo ultimi
vecchia vecchio vera vero argini cosa cose caso esempio fine forma gente gruppo idea lato linea luogo modo momento
mondo nome numero parte persona persone problema punto resto tempo tipo titolo uomo uomini donna donne vita volta volte
voce racconto testa mano
""",
    "pt": """
segundo segundos minuto minutos hora horas manhã tarde noite noites madrugada semana semanas mês meses década décadas
século séculos segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo janeiro fevereiro março
abril maio junho julho agosto setembro outubro novembro dezembro primavera verão outono inverno quilómetro quilómetros
quilômetro quilômetros metro metros centímetros quilo quilos gramas tonelada toneladas litro litros graus euro euros
dólares reais abre abriu acaba acabou afirma afirmou aguarda ajuda anuncia anunciou aparece aumenta bateu busca cai
caiu chega chegou chegar começa começou compra continua corre correu cresce criado criados criada deixa deixou deve
dizem diz disse encontra encontrou entra entrou espera está estava explica explicou faz fazer fecha fica ficou fizeram
ganha ganhou ganhar gosta guarda lança lançou leva levou mostra morre morreu nasce nasceu paga pagam parte passa passou
pede perde perdeu pode precisa quer querem recebe recebeu reduz reduzem reduziu sai saiu segue sobe tem termina
terminou toma traz usa vale vem vende vendeu vence venceu vive volta voltou alta alto antiga antigo baixa boa bom bons
grande grandes jovem local longa longo maior maiores melhor menor nova novas novos pequena pequeno pior próxima próximo
público última último últimos velha velho caso casos coisa coisas exemplo fim forma gente grupo homem homens ideia lado
linha lugar maneira momento mulher mulheres mundo nome número parte pessoa pessoas ponto problema resto tempo tipo
título vez vida voz mão cabeça
""",
    "nl": """
seconde seconden minuut minuten uur uren ochtend middag avond nacht dag dagen week weken weekend maand maanden jaar
jaren eeuw maandag dinsdag woensdag donderdag vrijdag zaterdag zondag januari februari maart april mei juni juli
augustus september oktober november december lente voorjaar zomer herfst najaar winter kilometer meter centimeter kilo
gram ton liter graden euro dollar begint begon begonnen betaalt bleef blijft blijven bracht breekt brengt denkt deed
doen doet gaat gaf geeft gebruikt geeft gevonden ging groeit haalt helpt heeft hield hoopt houdt houden ingestort keert
kijkt klaagt komt koopt kost kreeg krijgt kwam laat laten lag ligt loopt maakt maakte mag meldt moest neemt nam noemt
opent prees schreef schrijven sloot sluit spreekt speelt staat stapt stelt steunt stijgt stond stopt toont trekt valt
vertelt verliest verloor verkocht verkoopt viel vindt vond vraagt wacht wachten werkt wint winnen won ziet zag zegt zei
zit zoekt zorgt beste eerste enkele goed goede groot grote hele hoge jonge kleine lange laatste lage lokale mooie oude
snel volgende zeker zware deel eind einde geval groep idee keer kant lijn lid leden man mannen manier moment naam
mensen mens persoon plaats punt soort stuk tijd verhaal vrouw vrouwen vraag wereld
""",
}


@cache
def plain_words(language: str | None) -> frozenset[str]:
    """Return the case-folded words of a language that are too plain to name anything; of all where it is ``None``.

    Of a language without a list, such as ``und``, the numbers.

    >>> {"nine", "win"} <= plain_words("en"), "win" in plain_words("de")
    (True, False)
    """
    lists = [_WORDS.get(language, "")] if language else list(_WORDS.values())
    return frozenset(word.casefold() for words in (_NUMBERS, *lists) for word in words.split())
