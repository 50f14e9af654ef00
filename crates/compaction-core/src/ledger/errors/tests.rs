use super::*;

/// Outputs as tools print them, with the line that a person would quote.
const OUTPUTS: &[(&str, &str, &str)] = &[
    (
        "ssh",
        "ssh: connect to host gate port 22: Connection timed out\n\nCommand exited with code 255",
        "ssh: connect to host gate port 22: Connection timed out",
    ),
    ("no words of failure", "one\ntwo\n\nCommand exited with code 3", "two"),
    ("a trailer alone", "Command exited with code 3", "Command exited with code 3"),
    ("the simplest", "a\nerror: b\nc", "error: b"),
    (
        "powershell",
        "Restart-Service : Cannot find any service with service name 'web'.\nAt line:1 char:3\n+   Restart-Service web\n+   ~~~~~~~\n    + CategoryInfo          : ObjectNotFound: (web:String) [Restart-Service], ServiceCommandException\n    + FullyQualifiedErrorId : NoServiceFoundForGivenName",
        "Restart-Service : Cannot find any service with service name 'web'.",
    ),
    (
        "powershell, in Russian",
        "Get-Item : Не удается найти путь \"C:\\shop\".\nстрока:1 знак:1\n+ Get-Item C:\\shop\n+ ~~~\n    + CategoryInfo          : ObjectNotFound: (C:\\shop:String) [Get-Item]",
        "Get-Item : Не удается найти путь \"C:\\shop\".",
    ),
    (
        "powershell, in a script",
        "Get-Item : Cannot find path 'C:\\shop\\menu'.\nAt C:\\shop\\run.ps1:12 char:3\n+   Get-Item menu\n+   ~~~\n    + CategoryInfo          : ObjectNotFound: (menu:String) [Get-Item]\nFailed to load the error page",
        "Get-Item : Cannot find path 'C:\\shop\\menu'.",
    ),
    (
        "powershell, in Chinese",
        "gett : 无法将“gett”项识别为 cmdlet 的名称。请检查\n名称。\n所在位置 行:1 字符: 1\n+ gett menu\n+ ~~~~\n    + CategoryInfo          : ObjectNotFound: (gett:String) [], CommandNotFoundException\n    + FullyQualifiedErrorId : CommandNotFoundException",
        "gett : 无法将“gett”项识别为 cmdlet 的名称。请检查",
    ),
    (
        "powershell that cannot parse a script",
        "In C:\\shop\\run.ps1:8 car:9\n+ go menu && go list\n+         ~~\nIl token '&&' non \u{fffd} un separatore.\n    + CategoryInfo          : ParserError: (:) [], ParentContainsErrorRecordException\n    + FullyQualifiedErrorId : InvalidEndOfLine",
        "Il token '&&' non \u{fffd} un separatore.",
    ),
    (
        "powershell whose letters are lost",
        "gett : \u{fffd}\u{fffd}\u{fffd}\u{fffd}gett\u{fffd}\u{fffd}\u{fffd}\u{fffd}\n\u{fffd}\u{fffd} \u{fffd}:1 \u{fffd}: 1\n+ gett menu\n+ ~~~~\n    + CategoryInfo          : ObjectNotFound: (gett:String) []\n    + FullyQualifiedErrorId : CommandNotFoundException",
        "+ FullyQualifiedErrorId : CommandNotFoundException",
    ),
    ("nothing", "", "no output"),
    ("blank lines", " \n\n\t\n", "no output"),
    (
        "rustc",
        "   Compiling thiserror v1.0.50\n   Compiling app v0.1.0 (/w)\nwarning: unused variable: `error`\n --> src/lib.rs:1:5\n\nerror[E0308]: mismatched types\n  --> src/main.rs:3:5\n  |\n3 |     foo\n\nerror: could not compile `app` (bin \"app\") due to 1 previous error\n\nCommand exited with code 101",
        "error[E0308]: mismatched types --> src/main.rs:3:5",
    ),
    (
        "cargo test",
        "   Compiling app v0.1.0 (/w)\n    Finished `test` profile\n     Running unittests src/lib.rs\n\nrunning 3 tests\ntest errors::display_is_stable ... ok\ntest parse::timeout_is_kept ... ok\ntest parse::empty ... FAILED\n\nfailures:\n\n---- parse::empty stdout ----\nthread 'parse::empty' panicked at src/parse.rs:41:9:\nassertion `left == right` failed\n  left: 1\n right: 2\n\ntest result: FAILED. 2 passed; 1 failed\n\nCommand exited with code 101",
        "thread 'parse::empty' panicked at src/parse.rs:41:9: assertion `left == right` failed left: 1 right: 2",
    ),
    (
        "cargo test, nothing but names",
        "running 2 tests\ntest error::fatal ... ok\ntest parse::empty ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored",
        "test parse::empty ... FAILED",
    ),
    (
        "cargo run",
        "   Compiling error-chain v0.12.4\n    Finished `dev` profile\n     Running `target/debug/app`\nError: No such file or directory (os error 2)\n",
        "Error: No such file or directory (os error 2)",
    ),
    (
        "pytest",
        "collected 4 items\n\ntests/test_error_codes.py ..  [ 50%]\ntests/test_calc.py .F [100%]\n\n    def test_div():\n>       assert div(1, 0) == 1\n\nE   ZeroDivisionError: division by zero\n\nsrc/calc.py:17: ZeroDivisionError\nFAILED tests/test_calc.py::test_div - ZeroDivisionError: division by zero\n\nCommand exited with code 1",
        "ZeroDivisionError: division by zero",
    ),
    (
        "pytest, bare assertion",
        "tests/test_errors.py F [100%]\n\n>       assert total([1, 2]) == 4\nE       assert 3 == 4\nE        +  where 3 = total([1, 2])\n\ntests/test_errors.py:5: AssertionError\n1 failed, 3 passed in 0.12s",
        "assert 3 == 4",
    ),
    (
        "pytest, quiet",
        "..F\nFAILED tests/test_calc.py::test_div - assert 1 == 2\n1 failed, 2 passed in 0.03s",
        "FAILED tests/test_calc.py::test_div - assert 1 == 2",
    ),
    (
        "unittest",
        "..F\n======\nFAIL: test_div (tests.test_calc.CalcTest)\n------\nTraceback (most recent call last):\n  File \"/w/tests/test_calc.py\", line 9, in test_div\n    self.assertEqual(div(4, 2), 3)\nAssertionError: 2.0 != 3\n\n------\nRan 3 tests in 0.001s\n\nFAILED (failures=1)",
        "AssertionError: 2.0 != 3",
    ),
    (
        "python",
        "Traceback (most recent call last):\n  File \"/w/error_report.py\", line 3, in <module>\n    raise_error()\nKeyError: 'customer_id'\n\nCommand exited with code 1",
        "KeyError: 'customer_id'",
    ),
    (
        "python, an exception that led to another",
        "Traceback (most recent call last):\n  File \"/w/a.py\", line 3, in <module>\n    int(x)\nValueError: invalid literal\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/w/a.py\", line 5, in <module>\n    fail()\napp.ConfigInvalid: port must be a number\n",
        "app.ConfigInvalid: port must be a number",
    ),
    (
        "python, syntax",
        "  File \"/w/errors.py\", line 2\n    def f(:\n          ^\nSyntaxError: invalid syntax\n",
        "SyntaxError: invalid syntax",
    ),
    (
        "jest",
        "PASS src/errors.test.ts\nFAIL services/checkout/timeout.test.ts\n  \u{25cf} timeouts \u{203a} expire\n\n    TypeError: Cannot read properties of undefined (reading 'deadline')\n\n      86 |   const error = new Error();\n    > 88 |   return order.deadline;\n         |                ^\n      at handleCheckoutTimeout (services/checkout/timeout.ts:88:17)\n\nTests:       1 failed, 3 passed, 4 total\n\nCommand exited with code 1",
        "TypeError: Cannot read properties of undefined (reading 'deadline')",
    ),
    (
        "jest, expectation",
        "FAIL src/sum.test.js\n  \u{2713} reports an error (2 ms)\n  \u{2715} adds (3 ms)\n\n  \u{25cf} adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 4\n    Received: 3\n\n      3 | test('adds', () => {",
        "expect(received).toBe(expected) // Object.is equality Expected: 4 Received: 3",
    ),
    (
        "vitest",
        " \u{2713} src/error.test.ts (3 tests) 4ms\n \u{276f} src/sum.test.ts (1 test | 1 failed) 5ms\n\n FAIL  src/sum.test.ts > adds\nAssertionError: expected 3 to be 4 // Object.is equality\n \u{276f} src/sum.test.ts:5:18\n\n Test Files  1 failed | 1 passed (2)",
        "AssertionError: expected 3 to be 4 // Object.is equality",
    ),
    (
        "mocha",
        "  errors\n    \u{2713} throws Error: boom\n    1) adds\n\n  1 passing (5ms)\n  1 failing\n\n  1) errors\n       adds:\n     AssertionError [ERR_ASSERTION]: 3 == 4\n      at Context.<anonymous> (test/sum.js:5:12)",
        "AssertionError [ERR_ASSERTION]: 3 == 4",
    ),
    (
        "tsc",
        "src/errors.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\nFound 1 error in src/errors.ts:3",
        "src/errors.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.",
    ),
    (
        "eslint",
        "0 errors in cache\n/w/a.js\n  1:1  warning  Unexpected console statement  no-console\n  3:7  error  'foo' is assigned a value but never used  no-unused-vars\n\n\u{2716} 2 problems (1 error, 1 warning)\n\nCommand exited with code 1",
        "3:7 error 'foo' is assigned a value but never used no-unused-vars",
    ),
    (
        "mypy",
        "app/errors.py:12: note: See the documentation\napp/errors.py:12: error: Argument 1 to \"f\" has incompatible type \"str\"; expected \"int\"  [arg-type]\nFound 1 error in 1 file (checked 3 source files)",
        "app/errors.py:12: error: Argument 1 to \"f\" has incompatible type \"str\"; expected \"int\" [arg-type]",
    ),
    (
        "ruff",
        "src/app.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n[*] 1 fixable with the `--fix` option.",
        "src/app.py:1:8: F401 [*] `os` imported but unused",
    ),
    (
        "go test",
        "=== RUN   TestErrors\n--- PASS: TestErrors (0.00s)\n=== RUN   TestParse\n    parse_test.go:12: got 1, want 2\n--- FAIL: TestParse (0.00s)\nFAIL\nFAIL\texample.com/parse\t0.003s\nok  \texample.com/errors\t0.002s\nexit status 1",
        "parse_test.go:12: got 1, want 2",
    ),
    ("go build", "# example.com/errors\n./main.go:5:2: undefined: foo\n", "./main.go:5:2: undefined: foo"),
    (
        "go panic",
        "panic: runtime error: index out of range [3] with length 2\n\ngoroutine 1 [running]:\nmain.main()\n\t/w/main.go:7 +0x1d\nexit status 2",
        "panic: runtime error: index out of range [3] with length 2",
    ),
    (
        "gcc",
        "error.c: In function 'main':\nerror.c:2:9: warning: unused variable 'x' [-Wunused-variable]\nerror.c:5:3: error: 'y' undeclared (first use in this function)\nmake: *** [Makefile:3: error.o] Error 1",
        "error.c:5:3: error: 'y' undeclared (first use in this function)",
    ),
    (
        "linker",
        "/usr/bin/ld: main.o: in function `main':\nmain.c:(.text+0x9): undefined reference to `parse_errors'\ncollect2: error: ld returned 1 exit status",
        "main.c:(.text+0x9): undefined reference to `parse_errors'",
    ),
    (
        "make",
        "cc -c error.c\nmake: *** No rule to make target 'parse.o', needed by 'app'.  Stop.",
        "make: *** No rule to make target 'parse.o', needed by 'app'. Stop.",
    ),
    ("make, a recipe", "./check.sh\nmake: *** [Makefile:3: check] Error 1", "make: *** [Makefile:3: check] Error 1"),
    (
        "cmake",
        "-- The C compiler identification is GNU\n-- Looking for error.h - not found\nCMake Error at CMakeLists.txt:5 (find_package):\n  Could not find a package configuration file provided by \"Qt6\"\n\n-- Configuring incomplete, errors occurred!",
        "CMake Error at CMakeLists.txt:5 (find_package): Could not find a package configuration file provided by \"Qt6\"",
    ),
    (
        "cmake --build",
        "[ 50%] Building CXX object CMakeFiles/app.dir/error.cpp.o\n/w/error.cpp:3:10: fatal error: missing.h: No such file or directory\ncompilation terminated.\nmake[2]: *** [CMakeFiles/app.dir/build.make:76] Error 1",
        "/w/error.cpp:3:10: fatal error: missing.h: No such file or directory",
    ),
    (
        "mvn",
        "[INFO] Building error-handling-service 1.0\n[WARNING] deprecated: Errors.java\n[ERROR] COMPILATION ERROR : \n[ERROR] /w/src/A.java:[12,8] cannot find symbol\n[ERROR] Failed to execute goal org.apache.maven.plugins:compile\n\nCommand exited with code 1",
        "[ERROR] /w/src/A.java:[12,8] cannot find symbol",
    ),
    (
        "mvn test",
        "[INFO] Running com.x.ErrorTest\n[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0 <<< FAILURE! - in com.x.CalcTest\n[ERROR] com.x.CalcTest.div -- Time elapsed: 0.01 s <<< FAILURE!\norg.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n\tat com.x.CalcTest.div(CalcTest.java:12)\n[INFO] BUILD FAILURE",
        "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>",
    ),
    (
        "gradle",
        "> Task :error-service:processResources UP-TO-DATE\n> Task :compileJava FAILED\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nCould not resolve all files for configuration ':compileClasspath'.\n> Could not find com.x:lib:1.0.\n\n* Try:\n> Run with --stacktrace option\n\nBUILD FAILED in 1s",
        "Could not resolve all files for configuration ':compileClasspath'.",
    ),
    (
        "gradle test",
        "> Task :test\n\nParserTest > parsesErrors() PASSED\nParserTest > parsesEmpty() FAILED\n    org.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n        at ParserTest.java:9\n\n2 tests completed, 1 failed\n\n* What went wrong:\nExecution failed for task ':test'.\n> There were failing tests.",
        "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>",
    ),
    (
        "npm",
        "npm WARN deprecated error-ex@1.0.0\nnpm ERR! code E404\nnpm ERR! 404 Not Found - GET https://registry.example.com/left-padd - Not found\nnpm ERR! A complete log of this run can be found in: /h/.npm/_logs/1.log",
        "npm ERR! 404 Not Found - GET https://registry.example.com/left-padd - Not found",
    ),
    (
        "npm run",
        "> app@1.0.0 build\n> node build.js\n\n/w/build.js:3\n    throw new Error(\"no target\");\n    ^\n\nError: no target\n    at Object.<anonymous> (/w/build.js:3:11)\n\nnpm ERR! code ELIFECYCLE\nnpm ERR! errno 1",
        "Error: no target",
    ),
    (
        "pip",
        "Collecting error-tools\n  Downloading error_tools-1.0.tar.gz (10 kB)\nERROR: Could not find a version that satisfies the requirement left-pad (from versions: none)\nERROR: No matching distribution found for left-pad",
        "ERROR: Could not find a version that satisfies the requirement left-pad (from versions: none)",
    ),
    (
        "docker build",
        "#7 [3/4] RUN npm ci\n#7 0.412 npm ERR! code EUSAGE\n#7 0.413 sh: error-tool: not found\n------\nERROR: failed to solve: process \"/bin/sh -c npm ci\" did not complete successfully: exit code: 127",
        "#7 0.413 sh: error-tool: not found",
    ),
    (
        "docker",
        "Unable to find image 'left-pad:latest' locally\ndocker: Error response from daemon: pull access denied for left-pad, repository does not exist.\nSee 'docker run --help'.",
        "docker: Error response from daemon: pull access denied for left-pad, repository does not exist.",
    ),
    (
        "kubectl",
        "Error from server (NotFound): pods \"error-web\" not found",
        "Error from server (NotFound): pods \"error-web\" not found",
    ),
    (
        "kubectl, no server",
        "The connection to the server localhost:8080 was refused - did you specify the right host or port?",
        "The connection to the server localhost:8080 was refused - did you specify the right host or port?",
    ),
    (
        "psql",
        "SET\nERROR:  relation \"error_codes\" does not exist\nLINE 1: SELECT * FROM error_codes;\n                      ^",
        "ERROR: relation \"error_codes\" does not exist",
    ),
    (
        "psql, no server",
        "psql: error: connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused\n\tIs the server running on that host?",
        "psql: error: connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused",
    ),
    (
        "git",
        "hint: see errors below\nfatal: not a git repository (or any of the parent directories): .git",
        "fatal: not a git repository (or any of the parent directories): .git",
    ),
    (
        "git merge",
        "Auto-merging src/errors.rs\nCONFLICT (content): Merge conflict in src/errors.rs\nAutomatic merge failed; fix conflicts and then commit the result.",
        "CONFLICT (content): Merge conflict in src/errors.rs",
    ),
    (
        "bash",
        "+ ./check-errors.sh\nbash: line 1: kubectx: command not found",
        "bash: line 1: kubectx: command not found",
    ),
    (
        "python logging",
        "ERROR:root:Traceback (most recent call last):\n  File \"/w/x.py\", line 1, in <module>\n    int(x)\nValueError: x",
        "ValueError: x",
    ),
    (
        "python exception group",
        "  + Exception Group Traceback (most recent call last):\n  |   File \"/w/x.py\", line 3, in <module>\n  |     raise group\n  | ExceptionGroup: two failed (2 sub-exceptions)",
        "ExceptionGroup: two failed (2 sub-exceptions)",
    ),
    ("sh", "sh: 1: error-tool: not found", "sh: 1: error-tool: not found"),
    ("cat", "error.log\ncat: missing.txt: No such file or directory", "cat: missing.txt: No such file or directory"),
    (
        "configure",
        "checking for error.h... not found\nchecking whether cc works... yes\nconfigure: error: no acceptable C compiler found in $PATH",
        "configure: error: no acceptable C compiler found in $PATH",
    ),
    (
        "curl",
        "  % Total    % Received % Xferd  Average Speed\n  0     0    0     0    0     0      0      0 --:--:--\ncurl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server",
        "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server",
    ),
    (
        "node",
        "node:internal/modules/cjs/loader:1146\n  throw err;\n  ^\n\nError: Cannot find module './errors'\nRequire stack:\n- /w/app.js\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1143:15)\n  code: 'MODULE_NOT_FOUND'\n\nNode.js v20.1.0",
        "Error: Cannot find module './errors'",
    ),
    (
        "java",
        "Exception in thread \"main\" java.lang.NullPointerException: Cannot invoke \"Order.total()\"\n\tat com.x.ErrorHandler.run(ErrorHandler.java:12)\n\tat com.x.Main.main(Main.java:5)",
        "Exception in thread \"main\" java.lang.NullPointerException: Cannot invoke \"Order.total()\"",
    ),
    (
        "java, a chain",
        "org.springframework.beans.factory.BeanCreationException: Error creating bean\n\tat x.Y.z(Y.java:1)\nCaused by: org.hibernate.HibernateException: no session\n\t... 12 more\nCaused by: java.net.ConnectException: Connection refused\n\t... 20 more",
        "Caused by: java.net.ConnectException: Connection refused",
    ),
    (
        "ruby",
        "errors.rb:3:in `total': undefined method `sum' for nil (NoMethodError)\n\tfrom errors.rb:9:in `<main>'",
        "errors.rb:3:in `total': undefined method `sum' for nil (NoMethodError)",
    ),
    (
        "rspec",
        "..F\n\nFailures:\n\n  1) Calc adds\n     Failure/Error: expect(sum).to eq 4\n\n       expected: 4\n            got: 3\n\n2 examples, 1 failure",
        "Failure/Error: expect(sum).to eq 4",
    ),
    (
        "php",
        "PHP Warning:  Undefined variable $error in /w/a.php on line 2\nPHP Fatal error:  Uncaught TypeError: f(): Argument #1 must be of type int in /w/a.php:3\nStack trace:\n#0 {main}",
        "PHP Fatal error: Uncaught TypeError: f(): Argument #1 must be of type int in /w/a.php:3",
    ),
    (
        "elixir",
        "** (ArithmeticError) bad argument in arithmetic expression\n    errors.exs:1: (file)",
        "** (ArithmeticError) bad argument in arithmetic expression",
    ),
    (
        "dotnet",
        "  Determining projects to restore...\n/w/Errors.cs(3,5): error CS1002: ; expected [/w/app.csproj]\n\nBuild FAILED.\n    0 Warning(s)\n    1 Error(s)",
        "/w/Errors.cs(3,5): error CS1002: ; expected [/w/app.csproj]",
    ),
    (
        "terraform",
        "\u{2577}\n\u{2502} Error: Reference to undeclared resource\n\u{2502} \n\u{2502}   on errors.tf line 3\n\u{2575}",
        "\u{2502} Error: Reference to undeclared resource",
    ),
    ("tap", "ok 1 - errors are told\nnot ok 2 - parses empty\n# fail 1", "not ok 2 - parses empty"),
    (
        "an editing tool",
        "Could not find the exact text in src/errors.rs. It must match exactly.",
        "Could not find the exact text in src/errors.rs. It must match exactly.",
    ),
    (
        "colours",
        "\u{1b}[0m\u{1b}[1m\u{1b}[38;5;9merror[E0425]\u{1b}[0m\u{1b}[1m: cannot find value `x`\u{1b}[0m\n  \u{1b}[34m-->\u{1b}[0m src/a.rs:1:1",
        "error[E0425]: cannot find value `x` --> src/a.rs:1:1",
    ),
    (
        "git add",
        "Cmd('git') failed due to: exit code(1)\ncmdline: git add glaze/a.py\nstderr: 'The following paths are ignored by one of your .gitignore files:\nglaze/test\nhint: Use -f if you really want to add them.'",
        "stderr: 'The following paths are ignored by one of your .gitignore files: glaze/test",
    ),
    (
        "git commit",
        "Cmd('git') failed due to: exit code(1)\ncmdline: git commit -m x\nstdout: 'On branch main\nUntracked files:\nkiln.md\n\nnothing added to commit but untracked files present (use \"git add\" to track)'\nYou can use /undo to undo and discard each aider commit.",
        "nothing added to commit but untracked files present (use \"git add\" to track)'",
    ),
    ("what went well", "12 passed, 0 failed\nno errors\nbye", "bye"),
];

#[test]
fn the_line_is_found_that_a_person_would_quote() {
    let wrong = |(tool, output, line): &(&str, &str, &str)| {
        let found = error_line(output);
        (found != *line).then(|| format!("{tool}\n  found    {found}\n  expected {line}"))
    };
    let wrong: Vec<String> = OUTPUTS.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), OUTPUTS.len(), wrong.join("\n"));
}

#[test]
fn long_outputs_are_looked_at_from_both_ends() {
    let noise = "   Compiling thing v1.0.0\n".repeat(2000);
    assert_eq!(error_line(&format!("{noise}error: late\n")), "error: late");
    assert_eq!(error_line(&format!("error: early\n{noise}")), "error: early");
    let long = format!("error: {}", "x".repeat(100_000));
    assert_eq!(utf16_len(&error_line(&long)), LONGEST_TEXT);
}

proptest::proptest! {
    #[test]
    fn any_output_gives_one_short_line(output in "\\PC*|([ -~\u{1b}é中\n]|Traceback \\(most recent call last\\):\n|error: |\n  ){0,60}") {
        let line = error_line(&output);
        proptest::prop_assert!(utf16_len(&line) <= LONGEST_TEXT && !line.is_empty());
        proptest::prop_assert_eq!(one_line(&line), line.clone());
    }
}

#[test]
fn what_was_expected_is_known_in_many_languages() {
    for text in [
        "The second call raises `KeyError`, which is expected for an empty store.",
        "Two lint warnings are pre-existing.",
        "Der Test bricht wie erwartet ab.",
        "L'échec est attendu à ce stade.",
        "El fallo es normal aquí.",
        "Тест падает, как и ожидалось.",
        "测试失败，符合预期。",
        "想定通り失敗しました。",
    ] {
        assert!(excuses(text), "{text}");
    }
    for text in [
        "It does not work as expected.",
        "TypeError: expected str",
        "Das lief nicht wie erwartet.",
        "It failed.",
        "Parsing works as expected now, but the build fails.",
        "One lint warning is pre-existing, but the new test fails.",
    ] {
        assert!(!excuses(text), "{text}");
    }
}

#[test]
fn only_a_run_of_all_tests_of_the_same_tools_tells_of_tests_that_failed_before() {
    assert!(runs_all_tests("npm test -- --run") && runs_all_tests("npx vitest run") && runs_all_tests("cargo test"));
    assert!(!runs_all_tests("npx jest web/header.test.ts") && !runs_all_tests("cargo test -p parser"));
    assert_eq!(tools_of("npm test"), tools_of("npx vitest run"));
    assert_ne!(tools_of("cargo test"), tools_of("npx vitest run"));
    assert_eq!(tools_of("./venv/bin/pytest -q"), tools_of("python -m pytest"));
}

#[test]
fn a_model_may_speak_about_an_error_of_a_provider() {
    assert!(is_failed_request("API Error: 429 {\"error\":{\"message\":\"at most 120 requests\"}}"));
    assert!(is_failed_request("API Error: Request timed out."));
    assert!(!is_failed_request(
        "API Error: the page says 404. I changed src/a.rs so that it finds its rows, and the tests pass."
    ));
}

#[test]
fn the_words_of_the_model_are_compared_with_the_newest_failures() {
    let mut errors = Errors::default();
    for number in 0..100 {
        let place = SourcePosition { entry: None, position: number };
        errors.add(Some(&format!("tool{number} menu")), &format!("tool{number}: command not found"), place, false);
    }
    errors.read_remark("", 0);
    errors.read_success("");
    assert_eq!(errors.open.len(), 100);
    errors.read_remark("tool0 and tool99 are not installed, so I'm using Python.", 100);
    assert!(errors.open.contains_key(&0) && !errors.open.contains_key(&99));
    assert_eq!(errors.open.len(), 99);
}
