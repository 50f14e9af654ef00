use super::*;

/// What people ask to hold throughout.
const WISHES: &[&str] = &[
    // English.
    "Please never modify the file `legacy/payroll.cfg`.",
    "Port 48213 is reserved for the metrics server; do not use it.",
    "Don't touch e.g. foo.rs.",
    "Use port 9000, not 8080, because Bob owns 8080; never change that.",
    "The cache is slow; use the index instead.",
    "It is forbidden to rename public functions.",
    "Under no circumstances deploy on Fridays.",
    "The vendor directory is off-limits.",
    "Everything you write has to be in British English.",
    "Version 1.5 must stay; 2.0 is forbidden.",
    "Tabs, please, not spaces.",
    "The key rule: deploy only from main, i.e. never from a branch!",
    "Cannot deploy on Fridays.",
    "Refrain from adding dependencies.",
    "All changes are to be logged at all times.",
    "No new dependencies.",
    // German.
    "Bitte niemals die Datei `lohn.cfg` ändern.",
    "Verwende immer UTC in `Zeitstempel.java` und niemals Lokalzeit.",
    "Füge keine neuen Abhängigkeiten hinzu.",
    "Diese Datei nicht anfassen!",
    "Fass das Verzeichnis vendor nicht an.",
    "Auf keinen Fall direkt auf main pushen.",
    "Der Port 48213 darf nicht benutzt werden.",
    "Achte darauf, dass die Tests schnell bleiben.",
    "Wenn du fertig bist, lösche nichts.",
    "Löschen Sie keine Benutzerdaten.",
    "Nur die öffentliche Schnittstelle dokumentieren.",
    "Wichtig: keine Umbrüche in den Tabellen.",
    // French.
    "N'utilise jamais la fonction calculerAncien().",
    "Ne touche jamais à `src/clé_privée.pem`, s’il te plaît.",
    "S'il te plaît, ne modifie pas ce fichier.",
    "Merci de ne pas toucher au dossier vendor.",
    "Il ne faut jamais déployer le vendredi.",
    "L'API doit rester compatible avec la version 2.",
    "N’ajoutez aucune dépendance.",
    "Évite les dépendances inutiles.",
    "En aucun cas le port 48213.",
    // Spanish.
    "No uses nunca la función calcularTotalViejo().",
    "No agregues dependencias nuevas.",
    "Por favor, no modifiques este archivo.",
    "Nunca borres los registros.",
    "No lo toques sin preguntar.",
    "Está prohibido renombrar funciones públicas.",
    "Bajo ninguna circunstancia despliegues un viernes.",
    "Siempre usa UTC en los registros.",
    "No escribas comentarios en inglés.",
    "Evita las dependencias nuevas.",
    // Portuguese.
    "Não modifique o arquivo de configuração.",
    "Por favor, não apague os registros.",
    "Nunca faça deploy na sexta.",
    "Não mexa na pasta vendor.",
    "É proibido renomear funções públicas.",
    "Use sempre UTC nos registros.",
    "Em hipótese alguma use a porta 48213.",
    // Italian.
    "Non modificare mai il file di configurazione.",
    "Per favore, non toccare la cartella vendor.",
    "Non aggiungere nuove dipendenze.",
    "È vietato rinominare le funzioni pubbliche.",
    "In nessun caso usare la porta 48213.",
    "Usa sempre UTC nei registri.",
    // Russian.
    "Никогда не запускай миграцию `db/миграция_07.sql` без резервной копии.",
    "Не трогай папку vendor.",
    "Не добавляй новые зависимости.",
    "Пожалуйста, не изменяйте этот файл.",
    "Ни в коем случае не удаляй журналы.",
    "Запрещено переименовывать публичные функции.",
    "Всегда используй UTC.",
    "Файлы не удалять!",
    "Не пиши комментарии на английском.",
    // Arabic.
    "لا تحذف الملف `بيانات/سجل.txt` أبدا.",
    // Chinese.
    "不要修改 `config.yaml`。",
    "请务必不要删除 `数据/客户名单.csv` 这个文件。",
    "请不要添加新的依赖。",
    "禁止在周五部署。",
    "所有时间必须使用 UTC。",
    "請勿刪除記錄檔。",
    "千万别动 vendor 目录。",
    "始终使用简体中文回答。",
    // Japanese.
    "必ず `設定/本番.yaml` をバックアップしてください。",
    "絶対に本番のデータを消さないで。",
    "新しい依存関係を追加しないでください。",
    "このファイルは変更しないこと。",
    "公開関数の名前を変えてはいけません。",
    "金曜日のデプロイは禁止です。",
    "常にUTCを使ってください。",
    // Korean.
    "`설정/서버.toml` 파일은 절대 수정하지 마세요.",
    "새 의존성을 추가하지 마세요.",
    "금요일 배포는 금지입니다.",
    "항상 UTC를 사용해 주세요.",
    "반드시 백업을 먼저 하세요.",
];

/// What only reports, asks or wants work done.
const OTHERS: &[&str] = &[
    "I don't know why it fails.",
    "Why don't we use the index?",
    "Must it be UTC?",
    "The page returns 403 Forbidden.",
    "port the parser to Rust",
    "Never",
    "Warum funktioniert das nicht?",
    "Bitte schau nach, warum der Server nicht startet.",
    "Der Server startet nicht.",
    "Keine Ahnung, woran das liegt.",
    "Ändere die Funktion, damit sie nicht abstürzt.",
    "Ich kann die Datei nicht öffnen.",
    "Das hat noch nie funktioniert.",
    "Wir müssen das morgen prüfen.",
    "Ne fonctionne pas sur mon poste.",
    "Je n'ai jamais vu cette erreur.",
    "Ça ne marche pas.",
    "Pas de problème, merci beaucoup.",
    "Le serveur ne répond pas.",
    "No funciona en mi equipo.",
    "No sé por qué falla.",
    "No puedo abrir el archivo.",
    "El servidor nunca responde.",
    "No hay espacio en disco.",
    "No entiendo el mensaje.",
    "Não funciona na minha máquina.",
    "Não sei por que falha.",
    "Não consigo abrir o arquivo.",
    "O servidor nunca responde.",
    "Non funziona sul mio computer.",
    "Non so perché fallisce.",
    "Il server non risponde.",
    "Non riesco ad aprire il file.",
    "Не работает на моей машине.",
    "Не знаю, почему падает.",
    "Сервер не отвечает.",
    "Не могу открыть файл.",
    "Я никогда не видел этой ошибки.",
    "Должно быть, это ошибка в кэше.",
    "Добавь тесты для парсера.",
    "修复解析器中的错误并添加测试",
    "要不要加一个缓存？",
    "我不知道为什么会失败。",
    "服务器总是崩溃。",
    "请给按钮换一个特别的颜色。",
    "我无法登录系统。",
    "パーサーをRustに移植してください。",
    "必ず失敗します。",
    "サーバーが起動しません。",
    "なぜ動かないですか？",
    "絶対にバグだと思う。",
    "파서를 Rust로 옮겨 주세요.",
    "항상 실패합니다.",
    "서버가 시작되지 않습니다.",
    "왜 안 되나요?",
];

#[test]
fn constraints_are_known_in_many_languages() {
    let missed: Vec<_> = WISHES.iter().filter(|wish| constraints(wish).next() != Some(**wish)).collect();
    assert!(missed.is_empty(), "missed: {missed:#?}");
    let taken: Vec<_> = OTHERS.iter().filter(|other| constraints(other).next().is_some()).collect();
    assert!(taken.is_empty(), "taken: {taken:#?}");
}

#[test]
fn a_sentence_that_is_too_long_is_looked_at_in_parts() {
    let long = format!("The history of this project is long{}; never rename it", " and told elsewhere".repeat(30));
    assert_eq!(constraints(&long).collect::<Vec<_>>(), ["never rename it"]);
}

#[test]
fn cues_of_scripts_have_wide_characters() {
    for script in &scripts::SCRIPTS {
        for cue in [script.cues, script.stresses, script.ends].concat() {
            assert!(cue.bytes().any(|byte| byte >= 0xE3), "{cue}");
        }
    }
}
