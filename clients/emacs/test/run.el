;;; run.el --- Drives compactd.el by keys  -*- lexical-binding: t; -*-

;; Prints what the buffers show after each step:
;;   emacs --batch -Q -L . -l test/run.el
;; COMPACTD_BIN names the server.

;;; Code:

(require 'compactd)

(defvar here (file-name-directory (directory-file-name (file-name-directory load-file-name))))
(defvar place (make-temp-file "compactd-emacs-" t))
(defvar file (expand-file-name "sample.jsonl" place))

(copy-file (expand-file-name "../editors/sample.jsonl" here) file)
(setq compactd-agent-directory place
      compactd-settings
      `(:compaction (:keepRecentTokens 100)
        :compactd (:summarizer "slow"
                   :summarizers (:slow (:provider "command"
                                        :command ["sh" ,(expand-file-name "../editors/summarizer.sh" here)])))))

;; It writes to standard error, in the middle of a screen.
(advice-add 'jsonrpc--message :override #'ignore)

(defun say (text) (princ text) (terpri))
(defun print-text (name text)
  (say (format "\n== %s\n%s\n==" name (replace-regexp-in-string (regexp-quote place) "/home/ada" (string-trim-right text)))))
(defun print-step (name) (print-text name (buffer-string)))

(defun has (pattern &optional text)
  "Fail unless a line of TEXT, or of the buffer, matches PATTERN."
  (unless (string-match-p pattern (or text (buffer-string)))
    (error "No line has %S in:\n%s" pattern (or text (buffer-string)))))

(defun check (condition what) (unless condition (error "Not so: %s" what)))
(defun await () (check (compactd-wait 20) "the server answers"))

(defun press (key)
  "Do what KEY does in the current buffer."
  (call-interactively (key-binding (kbd key)))
  (await))

(defun to (pattern)
  (goto-char (point-min))
  (re-search-forward pattern)
  (beginning-of-line))

(defun bytes () (file-attribute-size (file-attributes file)))

(defun run ()
  (let ((before (bytes)) tree states)
    (compactd file)
    (await)
    (setq tree (current-buffer))
    (print-step "the tree")
    (has "^sample.jsonl: 24 entries, 2 branches$")
    (has "^├─◦ 1a2b3c77 user       Print the JSON on one line\\.$")
    (has "◀ leaf$")
    (check (equal (compactd--id-at-point) "1a2b3d98") "point is at the leaf")

    (press "d")
    (set-buffer "*compactd dry run*")
    (print-step "d: the dry run")
    (has "^--- context now: [0-9]+ tokens$")
    (has "^-user       Add a --json flag")
    (has "^\\+summary of 12 messages; by itself it keeps [0-9]+ %")
    (has "^ user       Now write a test")
    (check (and (eq major-mode 'diff-mode) (= (bytes) before)) "a dry run changes nothing")
    (set-buffer tree)

    (let ((listen (lambda (status) (push status states))))
      (advice-add 'compactd--tell :before listen)
      (press "c")
      (advice-remove 'compactd--tell listen))
    (setq states (reverse states))
    (print-text "c: what the second line says while it compacts"
                (string-join (append (seq-take states 3) '("…") (last states 2)) "\n"))
    (setq states (string-join states "\n"))
    (has "^compacting: [0-9]+ tokens before$" states)
    (has "^summarizing: [1-9][0-9]* tokens written$" states)
    (print-step "the tree after it")
    (has "^compacted [0-9]+ tokens to [0-9]+\\. ")
    (has "compaction .* ◀ leaf$")
    (check (> (bytes) before) "the entry is in the file")

    (to "compaction ")
    (press "v")
    (set-buffer (window-buffer (selected-window)))
    (print-step "v: the summary")
    (has "^## Goal$")
    (has "total_cost")
    (set-buffer tree)

    (to "1a2b3cee")
    (press "v")
    (set-buffer (window-buffer (selected-window)))
    (print-step "v: a tool call")
    (has "^\\[edit\\]$")
    (has "^path: src/report.py$")
    (set-buffer tree)

    (press "u")
    (print-step "u: undone")
    (has "^undone: compaction [0-9a-f]+; the leaf is [0-9a-f]+$")
    (has "The README does not mention .* ◀ leaf$")

    (to "One line breaks")
    (press "s")
    (print-step "s: at the other branch, with a summary of what was left")
    (has "^at 1a2b3caa, the summary of what was left is [0-9a-f]+$")
    (has "summary .* ◀ leaf$")

    (to "Thanks\\. What is left")
    (press "RET")
    (print-step "RET: at a message of the person, without a summary")
    (has "^at 1a2b3d87; the text of the message is in the kill ring$")
    (check (equal (current-kill 0) "Thanks. What is left to do?") "the text comes back")
    (has "all 13 tests pass\\. ◀ leaf$")

    (press "u")
    (print-step "u: where there is no compaction")
    (has "^failed: .*(.*)$")

    (compactd (expand-file-name "none.jsonl" place))
    (await)
    (print-step "a file that is not there")
    (has "^failed: .*(sessionNotFound)$")))

(unwind-protect (run)
  (compactd-stop)
  (delete-directory place t))
(say "\nemacs: 1 passed, 0 failed")
;;; run.el ends here
