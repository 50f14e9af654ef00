;;; compactd.el --- The tree of an agent's session  -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1") (jsonrpc "1.0.12"))
;; Keywords: tools
;; URL: https://github.com/compactd/compactd
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Shows the tree of a session file in a buffer (`M-x compactd'): jump in it, with a summary of the
;; branch that is left or without, compact it with live progress, see first as a diff what a
;; compaction would do, and undo it.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'jsonrpc)
(require 'seq)
(require 'subr-x)

(defgroup compactd nil
  "The tree of an agent's session."
  :group 'tools)

(defcustom compactd-command nil
  "The program; nil means the variable COMPACTD_BIN, then `compactd' on the path."
  :type '(choice (const nil) string))

(defcustom compactd-settings nil
  "Settings of the server, as a property list; nil for none.
They are sent when the server starts."
  :type 'plist)

(defcustom compactd-agent-directory nil
  "The agent directory; nil means that of the environment."
  :type '(choice (const nil) directory))

(defconst compactd--keys
  "RET go   s go with a summary   c compact   d dry run   u undo   v show   g refresh   q close")

(defconst compactd--hidden
  '("context_edit" "custom" "label" "model_change" "session_info" "thinking_level_change" "usage")
  "What these entries keep is shown with others, or is nothing that a person reads.")

(defconst compactd--names
  '(("toolResult" . "result") ("bashExecution" . "command") ("branch_summary" . "summary")
    ("custom_message" . "message")))

;;;; What a buffer shows

(defvar-local compactd--path nil "The session file.")
(defvar-local compactd--session nil "The id of the session.")
(defvar-local compactd--status "ready" "What goes on, or what came of it.")
(defvar-local compactd--tree nil "The tree that is shown, as the server told it.")

;;;; The server

(defvar compactd--connection nil "The server of this Emacs.")
(defvar compactd--open-requests 0 "Requests that have not been answered.")

(defun compactd--program ()
  "The path of the program; tells what to do where there is none."
  (let ((command (or compactd-command (getenv "COMPACTD_BIN") "compactd")))
    (or (executable-find command)
        (user-error
         "There is no program %s: install it by `npm install --global compactd-client', \
`pip install compactd-client' or `cargo install compactd', or set compactd-command" command))))

(defun compactd--start ()
  "Start the server."
  (let ((program (compactd--program)))
    (setq compactd--connection
          (make-instance
           'jsonrpc-process-connection
           :name "compactd"
           :notification-dispatcher (lambda (_ method params) (compactd--hear method params))
           :process (lambda ()
                      (make-process :name "compactd" :command (list program) :connection-type 'pipe
                                    :coding 'utf-8-emacs-unix :noquery t
                                    :stderr (get-buffer-create "*compactd stderr*"))))))
  (jsonrpc-request compactd--connection :initialize
                   (append (list :protocolVersion 1
                                 :clientInfo (list :name "emacs" :version emacs-version)
                                 :processId (emacs-pid)
                                 :cwd (expand-file-name default-directory))
                           (and compactd-settings (list :settings compactd-settings))
                           (and compactd-agent-directory
                                (list :agentDir (expand-file-name compactd-agent-directory))))))

(defun compactd--server ()
  "The running server."
  (unless (and compactd--connection (jsonrpc-running-p compactd--connection))
    (compactd--start))
  compactd--connection)

(defun compactd-stop ()
  "End the server."
  (interactive)
  (when (and compactd--connection (jsonrpc-running-p compactd--connection))
    (ignore-errors (jsonrpc-request compactd--connection :shutdown (make-hash-table) :timeout 1))
    (jsonrpc-notify compactd--connection :exit (make-hash-table))
    (let ((end (+ (float-time) 1)))
      (while (and (jsonrpc-running-p compactd--connection) (< (float-time) end))
        (accept-process-output nil 0.01)))
    (when (jsonrpc-running-p compactd--connection)
      (jsonrpc-shutdown compactd--connection t)))
  (setq compactd--connection nil))

(add-hook 'kill-emacs-hook #'compactd-stop)

(defun compactd--ask (method params done &optional finally)
  "Send METHOD with PARAMS about the session of this buffer.
DONE is called there with the result; a failure is told in the buffer.
FINALLY is called in any case.  The answer may take as long as it likes."
  (let ((buffer (current-buffer)) (server (compactd--server)))
    (cl-flet ((answered (tell)
                (cl-decf compactd--open-requests)
                (when (buffer-live-p buffer)
                  (with-current-buffer buffer
                    (funcall tell)
                    (when finally (funcall finally))))))
      (cl-incf compactd--open-requests)
      (jsonrpc-async-request
       server method
       (if (plist-member params :path) params (append (list :sessionId compactd--session) params))
       :timeout nil
       :success-fn (lambda (result) (answered (lambda () (funcall done result))))
       :error-fn (lambda (failure) (answered (lambda () (compactd--tell (compactd--reason failure)))))))))

(defun compactd--reason (failure)
  "What a person reads of FAILURE."
  (format "%s%s (%s)" (if (string-prefix-p "failed" (plist-get failure :message)) "" "failed: ")
          (plist-get failure :message)
          (or (plist-get (plist-get failure :data) :kind) (plist-get failure :code))))

(defun compactd-wait (&optional seconds)
  "Wait until the server has answered all that it was asked, SECONDS at most.
Gives whether it has.  For scripts."
  (let ((end (+ (float-time) (or seconds 10))))
    (while (and (> compactd--open-requests 0) (< (float-time) end))
      (accept-process-output nil 0.01))
    (= compactd--open-requests 0)))

;;;; The tree

(defun compactd--path-to (leaf nodes)
  "A table of the entries of NODES from the root to LEAF."
  (let ((path (make-hash-table :test #'equal)))
    (while (and leaf (gethash leaf nodes) (not (gethash leaf path)))
      (puthash leaf t path)
      (setq leaf (plist-get (gethash leaf nodes) :parentId)))
    path))

(defun compactd--shown (id nodes)
  "The nearest entry of NODES that is shown, from ID towards the root."
  (while (and id (member (plist-get (gethash id nodes) :type) compactd--hidden))
    (setq id (plist-get (gethash id nodes) :parentId)))
  id)

(defun compactd--rows (tree)
  "Rows of TREE, a result of getTree: (NODE DEPTH FIRST ON-PATH LEAF LAST).
The current path stays in the first column; what branches off comes
before it goes on."
  (let ((nodes (make-hash-table :test #'equal)) (children (make-hash-table :test #'equal))
        rows waiting)
    (seq-doseq (node (plist-get tree :nodes))
      (puthash (plist-get node :id) node nodes))
    (seq-doseq (node (reverse (plist-get tree :nodes)))
      (unless (member (plist-get node :type) compactd--hidden)
        (let ((parent (compactd--shown (plist-get node :parentId) nodes)))
          (push (plist-get node :id) (gethash (and (gethash parent nodes) parent) children)))))
    (let* ((path (compactd--path-to (plist-get tree :leafId) nodes))
           (leaf (compactd--shown (plist-get tree :leafId) nodes)))
      (cl-flet ((push-all (siblings depth)
                  (let ((main (or (cl-find-if (lambda (id) (gethash id path)) siblings) (car (last siblings)))))
                    (when main
                      (push (list main depth nil) waiting)
                      (dolist (id (reverse siblings))
                        (unless (equal id main) (push (list id (1+ depth) t) waiting)))))))
        (push-all (gethash nil children) 0)
        ;; Not by recursion: a path may have more entries than calls can be nested.
        (while waiting
          (pcase-let* ((`(,id ,depth ,first) (pop waiting)) (below (gethash id children)))
            (push (list (gethash id nodes) depth first (gethash id path) (equal id leaf) (null below)) rows)
            (push-all below depth)))))
    (nreverse rows)))

(defun compactd--kind (node)
  "What NODE is, in a word."
  (let ((kind (or (plist-get node :role) (plist-get node :type))))
    (or (cdr (assoc kind compactd--names)) kind)))

(defun compactd--preview (node)
  "What NODE says.
Of a summary that is its goal; its headings tell a person nothing."
  (let* ((preview (plist-get node :preview)) (goal (string-remove-prefix "## Goal - " preview)))
    (if (equal goal preview) preview (replace-regexp-in-string " ## .*" " …" goal))))

(defun compactd--counted (number one many)
  "NUMBER with the word ONE or MANY."
  (format "%d %s" number (if (= number 1) one many)))

(defun compactd--line (row)
  "The text of ROW."
  (pcase-let ((`(,node ,depth ,first ,on-path ,leaf ,_) row))
    (concat (if first (concat (apply #'concat (make-list (1- depth) "│ ")) "├─")
              (apply #'concat (make-list depth "│ ")))
            ;; What is not on the current path has an open circle.
            (format "%s %s %-10s %s" (if on-path "•" "◦") (plist-get node :id)
                    (compactd--kind node) (compactd--preview node))
            (and (plist-get node :label) (format " [%s]" (plist-get node :label)))
            (and leaf " ◀ leaf"))))

(defun compactd--show ()
  "Show the tree that this buffer has."
  (let* ((inhibit-read-only t) (rows (compactd--rows compactd--tree))
         (at (compactd--id-at-point)))
    (erase-buffer)
    (insert (format "%s: %s, %s\n" (file-name-nondirectory compactd--path)
                    (compactd--counted (length rows) "entry" "entries")
                    (compactd--counted (cl-count-if (lambda (row) (nth 5 row)) rows) "branch" "branches"))
            compactd--status "\n" compactd--keys "\n\n")
    (dolist (row rows)
      (insert (propertize (compactd--line row) 'compactd-id (plist-get (car row) :id)) "\n"))
    (goto-char (point-min))
    (let ((place (or (and at (text-property-any (point-min) (point-max) 'compactd-id at))
                     (and (search-forward " ◀ leaf" nil t) (line-beginning-position)))))
      (goto-char (or place (point-min))))))

(defun compactd--tell (status)
  "Show STATUS in the second line."
  (setq compactd--status status)
  (save-excursion
    (goto-char (point-min))
    (let ((inhibit-read-only t))
      (forward-line 1)
      (delete-region (point) (line-end-position))
      (insert status)))
  (redisplay))

(defun compactd--id-at-point ()
  "The id of the entry at point."
  (get-text-property (line-beginning-position) 'compactd-id))

(defun compactd--entry-at-point ()
  "The id of the entry at point, or an error."
  (or (compactd--id-at-point) (user-error "There is no entry here")))

(defun compactd--refresh (&rest _)
  "Read the tree again."
  (compactd--ask :getTree nil (lambda (tree) (setq compactd--tree tree) (compactd--show))))

(defun compactd--progress (params)
  "What a person reads of progress with PARAMS."
  (pcase (plist-get params :phase)
    ("summarizing"
     (concat "summarizing: "
             (and (> (plist-get params :requests) 1)
                  (format "request %d of %d, " (plist-get params :request) (plist-get params :requests)))
             (format "%d tokens written" (plist-get params :outputTokens))))
    ("waiting" "the model failed; it is asked again soon")
    ("committing" "writing the summary")
    (phase phase)))

(defun compactd--hear (method params)
  "Show what the notification METHOD with PARAMS tells."
  (dolist (buffer (buffer-list))
    (when (equal (buffer-local-value 'compactd--session buffer) (or (plist-get params :sessionId) 'none))
      (with-current-buffer buffer
        (pcase method
          ('compactionStart (compactd--tell (format "compacting: %d tokens before" (plist-get params :tokensBefore))))
          ('branchSummaryStart (compactd--tell (format "summarising the branch that is left: %d tokens"
                                                       (plist-get params :estimatedTokens))))
          ((or 'compactionProgress 'branchSummaryProgress)
           (compactd--tell (compactd--progress params)))
          ('sessionChanged (compactd--refresh)))))))

(defun compactd--open-for-reading (done)
  "Open the session for reading, and call DONE.
The file is left to the agent that works on it."
  (compactd--ask :openSession (list :path compactd--path :readOnly t) done))

(defun compactd--change (method params done)
  "Do one change: call METHOD with PARAMS; DONE gives the status for its result.
The session is open for writing for just as long."
  (compactd--ask
   :openSession (list :path compactd--path)
   (lambda (_)
     (compactd--ask
      method params
      (lambda (result) (compactd--tell (funcall done result)))
      (lambda ()
        (compactd--ask :closeSession nil
                       (lambda (_) (compactd--open-for-reading (lambda (_) (compactd--refresh))))))))))

(defun compactd--show-text (name mode text)
  "Show TEXT in a buffer of its own, NAME, in MODE."
  (with-current-buffer (get-buffer-create (format "*compactd %s*" name))
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert text)
      (goto-char (point-min)))
    (funcall mode)
    (setq buffer-read-only t)
    (pop-to-buffer (current-buffer))))

;;;; Commands

(defun compactd--go (summarize)
  "Move to the entry at point; SUMMARIZE is t or :json-false."
  (let ((id (compactd--entry-at-point)))
    (compactd--change
     :navigateTree (list :targetId id :summarize summarize)
     (lambda (result)
       (let ((text (plist-get result :editorText)) (summary (plist-get (plist-get result :summaryEntry) :id)))
         (when text (kill-new text))
         (concat "at " id
                 (and summary (format ", the summary of what was left is %s" summary))
                 (and text "; the text of the message is in the kill ring")))))))

(defun compactd-go ()
  "Move to the entry at point, without a summary of the branch that is left."
  (interactive)
  (compactd--go :json-false))

(defun compactd-go-with-summary ()
  "Move to the entry at point, with a summary of the branch that is left."
  (interactive)
  (compactd--go t))

(defun compactd-compact (&optional instructions)
  "Compact the session; INSTRUCTIONS say what the summary looks at."
  (interactive (list (and current-prefix-arg (read-string "Instructions: "))))
  (compactd--change
   :compact (and instructions (list :customInstructions instructions))
   (lambda (result)
     (format "compacted %d tokens to %d. %s" (plist-get result :tokensBefore) (plist-get result :tokensAfter)
             (plist-get result :brief)))))

(defun compactd--diff (result rows)
  "The diff from the context now to the one that a compaction would leave.
RESULT is that of prepareCompaction, ROWS are those of the tree."
  (let* ((plan (plist-get result :preparation)) (first-kept (plist-get plan :firstKeptEntryId))
         (on-path (mapcar #'car (cl-remove-if-not (lambda (row) (nth 3 row)) rows)))
         (kept (cl-member first-kept on-path :test #'equal :key (lambda (node) (plist-get node :id))))
         (before (butlast on-path (length kept))))
    (cl-flet ((lines (mark some)
                (mapconcat (lambda (node)
                             (format "%s%-10s %s\n" mark (compactd--kind node) (compactd--preview node)))
                           some "")))
      (concat (format "--- context now: %d tokens\n" (plist-get plan :tokensBefore))
              (format "+++ context after a compaction that keeps %s and what follows\n" first-kept)
              (format "@@ -1,%d +1,%d @@\n" (length on-path) (1+ (length kept)))
              (lines "-" before)
              (format "+summary of %d messages; by itself it keeps %.0f %% of their requests, files and decisions\n"
                      (+ (length (plist-get plan :messagesToSummarize)) (length (plist-get plan :turnPrefixMessages)))
                      (* 100 (plist-get (plist-get result :forecast) :score)))
              (lines " " kept)))))

(defun compactd-dry-run ()
  "Show what a compaction would do; change nothing."
  (interactive)
  (compactd--ask
   :prepareCompaction (list :include ["forecast"])
   (lambda (result)
     (if (plist-get result :preparation)
         (compactd--show-text "dry run" #'diff-mode (compactd--diff result (compactd--rows compactd--tree)))
       (compactd--tell (format "nothing to compact: %s" (plist-get result :reason)))))))

(defun compactd-undo ()
  "Bring back the context from before the last compaction."
  (interactive)
  (compactd--change
   :undoCompaction nil
   (lambda (result)
     (format "undone: compaction %s; the leaf is %s" (plist-get result :undoneEntryId) (plist-get result :leafId)))))

(defun compactd--block-text (block)
  "The text of BLOCK of a message, or what a tool is called with."
  (if (equal (plist-get block :type) "toolCall")
      (concat (format "[%s]" (plist-get block :name))
              (cl-loop for (name value) on (plist-get block :arguments) by #'cddr
                       concat (format "\n%s: %s" (substring (symbol-name name) 1)
                                      (if (stringp value) value (json-encode value)))))
    (or (plist-get block :text) (plist-get block :thinking) (format "[%s]" (plist-get block :type)))))

(defun compactd-show-entry ()
  "Show the entry at point whole."
  (interactive)
  (let ((id (compactd--entry-at-point)))
    (compactd--ask
     :getEntry (list :entryId id)
     (lambda (result)
       (let* ((entry (plist-get result :entry))
              (content (or (plist-get entry :summary) (plist-get (plist-get entry :message) :content) entry)))
         (compactd--show-text id #'text-mode
                              (cond ((stringp content) content)
                                    ((vectorp content) (mapconcat #'compactd--block-text content "\n\n"))
                                    (t (pp-to-string content)))))))))

(defvar compactd-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'compactd-go)
    (define-key map "s" #'compactd-go-with-summary)
    (define-key map "c" #'compactd-compact)
    (define-key map "d" #'compactd-dry-run)
    (define-key map "u" #'compactd-undo)
    (define-key map "v" #'compactd-show-entry)
    map))

(define-derived-mode compactd-mode special-mode "Compactd"
  "The tree of an agent's session."
  (setq truncate-lines t)
  (setq-local revert-buffer-function #'compactd--refresh)
  (add-hook 'kill-buffer-hook #'compactd--close nil t))

(defun compactd--close ()
  "Close the session of a buffer that ends."
  (when (and compactd--session compactd--connection (jsonrpc-running-p compactd--connection))
    (jsonrpc-async-request compactd--connection :closeSession (list :sessionId compactd--session)
                           :success-fn #'ignore :error-fn #'ignore :timeout nil)))

;;;###autoload
(defun compactd (file)
  "Show the tree of the session FILE."
  (interactive (list (read-file-name "Session: " nil buffer-file-name t)))
  (let ((path (expand-file-name file)))
    (pop-to-buffer-same-window (get-buffer-create (format "*compactd: %s*" (abbreviate-file-name path))))
    (if compactd--path
        (compactd--refresh)
      (compactd-mode)
      (setq compactd--path path)
      (let ((inhibit-read-only t)) (insert path "\nopening\n" compactd--keys "\n"))
      (compactd--open-for-reading
       (lambda (result)
         (setq compactd--session (plist-get result :sessionId))
         (compactd--refresh))))))

(provide 'compactd)
;;; compactd.el ends here
