"""Words that tell a name from other words, in the languages whose feeds are followed most. General knowledge only."""

import re

_HEADS_FIRST = """
Université École Ecole Institut Ministère Parti Banque Société Fédération Association Académie Conseil Assemblée
Commission Organisation Union Ligue Club Comité Centre Cour Chambre Compagnie Groupe Front Mouvement Agence Bibliothèque
Orchestre Église Eglise Armée Collège Lycée Fondation Office Observatoire Confédération Syndicat Tribunal Éditions
Parlement Faculté Conservatoire Secrétariat Alliance Rassemblement Laboratoire Radio Télévision Théâtre Ordre Brigade
Muséum Musée Régiment Division Escadron Garde Légion Gendarmerie Studio Studios Stade Racing Olympique Entente Étoile
Universidad Escuela Instituto Ministerio Partido Banco Sociedad Federación Asociación Academia Consejo Asamblea Comisión
Organización Unión Comité Centro Corte Cámara Compañía Grupo Frente Movimiento Agencia Biblioteca Orquesta Iglesia
Ejército Colegio Fundación Oficina Observatorio Confederación Sindicato Real Atlético Deportivo Sporting Congreso Junta
Editorial Facultad Conservatorio Secretaría Alianza Coalición Fuerza Fuerzas Armada Policía Dirección Convergencia
Conferencia Corporación Museo Autoridad Departamento Diputación Hermandad Cofradía Batallón Regimiento Escuadrón Tercio
Unidad
Università Istituto Ministero Partito Banca Società Federazione Associazione Accademia Consiglio Commissione
Organizzazione Unione Lega Comitato Corte Camera Compagnia Gruppo Fronte Movimento Agenzia Fondazione Teatro
Polisportiva Universidade Escola Ministério Federação Associação Academia Conselho Assembleia Comissão Organização
União Câmara Companhia Fundação Confederação Sindicato
Universiteit Ministerie Partij Stichting Vereniging
University Institute Ministry Department Bank Society Federation Association Academy Council Committee Church College
Department Board Bureau Office Agency School Company
"""
_PLAIN_FIRST = """
Ministère Ministerio Ministero Ministério Ministry Department Conseil Consejo Secrétariat Secretaría Office Fédération
Federación Organisation Institut Commission Comité Cour Ligue Chambre Bureau
"""
_HEADS_LAST = """
University College Institute Institution Records Recordings Pictures Entertainment Studios Music Group Corporation
Company Party Association Federation Society Council Commission Agency Bank Press Times Post Tribune Herald Gazette
Chronicle Navy Army Department Ministry Foundation Academy Church Orchestra Philharmonic Symphony Airlines Airways
Motors Industries Technologies Systems Software Games Interactive Productions Television Broadcasting Network Channel
Club United Rangers Wanderers Rovers Athletic Holdings Holding Partners Capital Pharmaceuticals Laboratories Labs Energy
Oil Steel Railway Railways Railroad Lines Publishing Publishers Publications Books Comics Films Media Communications
Consulting Innovations Biolabs Therapeutics Robotics Dynamics Semiconductors Electronics Biosciences Aerospace
Solutions Services Union League Alliance Front Movement Committee Board Bureau Court Parliament Senate Police
Corps Brigade Regiment Squadron Division Fleet Band Ensemble Quartet Choir Ballet Opera Museum Museums Hospital School
Giants Tigers Lions Bears Eagles Hawks Panthers Raiders Chargers Broncos Wildcats Bulldogs Warriors Kings Rockets
"""
_GERMAN_HEADS = """
Universität Hochschule Fachhochschule Institut Ministerium Partei Bank Verband Verein Akademie Gesellschaft Klub Club
Orchester Kommission Union Kirche Stiftung Vereinigung Bund Philharmoniker Symphoniker Sinfoniker Staatsoper Oper
Zeitung Nachrichten Verlag Volkspartei Bundesbank Sparkasse Landesbank Fußballverband Fußball-Bund Gewerkschaftsbund
Gewerkschaft Rundfunk Staatstheater Nationaltheater Schauspielhaus Bundesbahn Bahn Post Reichsbahn Armee Flotte Division
Regiment Landeskirche Forschungsgemeinschaft Arbeiterpartei Nationalversammlung Parlament Gerichtshof Werke Motorenwerke
Rat Nationalrat Abgeordnetenhaus Polizei Landtag Zentrale Musikhochschule Kunstakademie Kunsthochschule Bundesheer
Universitätsklinikum Klinikum Uniklinik Universitätsklinik Uniklinikum Universitätsmedizin
"""
_GERMAN_FOR = """
Institut Ministerium Bundesministerium Staatsministerium Reichsministerium Bundesamt Landesamt Bundesanstalt
Bundeszentrale Hochschule Fachhochschule Akademie Gesellschaft Museum Fakultät Verband Vereinigung Zentrum Kommission
Amt Behörde Stiftung Institute Musikhochschule Universität
"""
_GERMAN_OF = "Akademie Partei Bund Verband Vereinigung Universität Hochschule Reichsverband Arbeitsgemeinschaft"
_CLUB = """
FC F.C. SC SV VfB VfL VfR TSV TSG FSV SpVgg BSC MSV AS AC A.C. OGC RC CF C.F. CD UD SD RCD CSKA ZSKA SSC US HC EHC ERC
KV KRC RSC PSV AZ NK FK HNK MTK OSC LOSC BK IFK IF GNK SK BSG TuS TuRa KSV ASV SSV TV TSC AJ EA ES FCM CA CS CR SE EC
Dynamo Dinamo Lokomotive Lokomotiv Spartak Real Atlético Atletico Sporting Racing Olympique Deportivo Borussia
Eintracht Fortuna Hertha Werder Arminia Alemannia Rot-Weiss Rot-Weiß Schwarz-Weiß Rapid Maccabi Hapoel Zenit Schachtar
"""
_CLUB_LAST = "FC F.C. CF C.F. SC AC FK BC HC SK IF BK SV Rovers Wanderers HSC"
_CUES = """
société entreprise compagnie firme label groupe éditeur constructeur équipementier club parti syndicat chaîne journal
quotidien hebdomadaire banque filiale studio organisation association université ong start-up
empresa compañía discográfica sello grupo banda editorial fabricante equipo partido sindicato cadena canal diario
periódico banco aerolínea productora constructora universidad multinacional petrolera
company firm label publisher band manufacturer team party union broadcaster newspaper airline bank startup start-up
maker carmaker subsidiary retailer
azienda società impresa casa editrice gruppo partito sindacato quotidiano banca squadra università
empresa companhia banda gravadora editora partido jornal universidade
bedrijf onderneming krant partij omroep
Firma Unternehmen Konzern Band Musikgruppe Rockband Popband Metal-Band Plattenlabel Label Musiklabel Verlag Verein
Fußballverein Fußballclub Sportverein Klub Partei Tageszeitung Fernsehsender Sender Hersteller Fluggesellschaft
Tochtergesellschaft Automobilhersteller Orchester Unternehmensgruppe Softwareunternehmen Organisation Gewerkschaft
Plattenfirma Reederei Brauerei Zeitschrift Start-up Startup
"""
_LEADERS = """
PDG CEO CFO CTO cofondateur cofondatrice actionnaire actionnaires salariés employés filiale
cofundador cofundadora acciones accionistas empleados consejero-delegado
co-founder cofounder shares shareholders employees spokesman spokeswoman subsidiary
Vorstandschef Vorstandsvorsitzender Vorstandsvorsitzende Vorstandsvorsitzenden Aktien Aktionäre Sprecher Tochter
Mitarbeiter Gesellschafter Geschäftsführer
"""
_TITLES = """
Mr Mr. Mrs Mrs. Ms Ms. Dr Dr. Prof Prof. Sir Lady Lord Monsieur Madame Mademoiselle Mme Mlle Herr Herrn Frau Señor
Señora Sr. Sra. Don Doña Saint Sainte Signor Signora Senhor Senhora Kaiser Kaiserin König Königin Prinz Prinzessin Papst
Graf Herzog Fürst General Général Admiral Kardinal Bischof Bundeskanzler Präsident
"""
_NOT_ORGANISATIONS = """
TV CD CDs DVD DVDs VHS ISBN ISSN USA US U.S. U.S.A. UK U.K. DDR RDA GDR URSS UDSSR BRD RFA RFT RDC EAU DNA DNS ADN ARN
RNA HIV VIH AIDS SIDA PC CPU GPU GPS HTML PDF XML WWW LED LCD OK EP LP AD BC AOC PIB BIP PME PKW LKW HD RAM ROM SMS IT
DJ MC MVP RPG BD QI IQ GDP GMT UTC MEZ CET AM PM FM BWV KV OP NR NS JC JO JJ OO GP VIP CEO PDG CFO CTO SOS UFO
OVNI HDMI USB DOS LSD TGV ICE S-Bahn U-Bahn IC RER BMX MMA DNI IVA TVA MWST PS HP KM MHZ GHZ MB GB TB
"""
_CONNECTORS = "de du des d' l' la le les of the for del della dei delle dell' di da do dos das den van von y e und &"
_ADJECTIVE = re.compile(
    r"^[a-zéèêëàâîïôöûüçñáíóúã-]{2,}(?:ale?s?|aux|iques?|istes?|iens?|iennes?|aise?s?|oise?s?|aires?|elles?|ives?|aines?"
    r"|éen(?:ne)?s?|anes?|ales|istas?|ic[oa]s?|an[oa]s?|eñ[oa]s?|és|esas?|ari[oa]s?|iv[oa]s?|enses?|ali|ères?|uni[es]{0,2}"
    r"|suprême|populaires?|libre|suprem[oa]|unid[oa]s?|mondiale?|catholique|católic[oa])$"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HEADS_FIRST = _words(_HEADS_FIRST)
"""What begins a name that goes on with what it is of: ``Université de Paris``."""
PLAIN_FIRST = _words(_PLAIN_FIRST)
"""Those of them that what they are for follows in small letters: ``Ministère de la défense``."""
HEADS_LAST = _words(_HEADS_LAST)
"""What ends a name in English: ``Columbia Records``."""
GERMAN_HEADS = _words(_GERMAN_HEADS)
"""What German names end with or go on from; nouns, and so only with a proper adjective or a place."""
GERMAN_FOR = _words(_GERMAN_FOR)
"""What goes on with ``für``."""
GERMAN_OF = _words(_GERMAN_OF)
"""What goes on with ``der``."""
CLUB = _words(_CLUB)
"""What a club's name begins with."""
CLUB_LAST = _words(_CLUB_LAST)
"""What a club's name ends with."""
CUES = _words(_CUES)
"""A name that follows one of these is one of an organisation."""
LEADERS = _words(_LEADERS)
"""With ``of`` behind them they belong to an organisation."""
TITLES = _words(_TITLES)
"""What stands in front of a person's name."""
NOT_ORGANISATIONS = _words(_NOT_ORGANISATIONS)
"""Acronyms of other things."""
CONNECTORS = _words(_CONNECTORS)
"""What joins the parts of a name."""
SAINTS = _words("Saint Sainte San Santa Sankt São")
"""Titles behind which rather a church, a place or a feast is meant than a person, unless the name goes on."""
MODALS = _words("will wollte kann konnte soll sollte muss musste darf möchte wird hat hatte habe würde könnte")
"""German verbs with whose clause an object comes right behind the subject."""
PARTICLES = _words("de du von van der den di da dos della del la le zu bin ben al el y")
"""What joins the parts of a person's name."""
OF = _words("de du d' of von der des del della di da do")
"""What says whose."""


def is_adjective(word: str) -> bool:
    """Say whether a small word is one of those adjectives that belong to names in Romance languages."""
    return bool(_ADJECTIVE.match(word))
