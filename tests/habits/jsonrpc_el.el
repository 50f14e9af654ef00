;;; A session through jsonrpc.el of Emacs, which leaves out nil parameters and keeps ids to itself.  -*- lexical-binding: t -*-
;; emacs --batch -Q -l jsonrpc_el.el
(require 'jsonrpc)
(require 'cl-lib)

(defconst summary
  (list :text (mapconcat (lambda (heading) (concat heading "\n- point"))
                         '("## Goal" "## Constraints & Preferences" "## Progress" "### Done" "### In Progress" "### Blocked"
                           "## Key Decisions" "## Next Steps" "## Critical Context")
                         "\n\n")
        :stopReason "stop" :usage nil))
(defvar home (make-temp-file "compactd-habits" t))
(defvar hooks 0)
(defvar ends nil)
(defvar aborts nil)
(defvar cancelled nil)
(defvar failure nil)

(defun wait-for (what done)
  (with-timeout (20 (error "%s did not happen" what))
    (while (not (funcall done)) (accept-process-output nil 0.01))))

(defun answer (connection method _params)
  (cond ((eq method 'sessionBeforeCompact) (cl-incf hooks) nil)
        ((not (eq method 'summarize)) (jsonrpc-error :code -32601 :message "unknown"))
        ;; What a function returns is its answer.  It must not read on while it waits: the filter that called it is not
        ;; reentrant.  So the answer comes late, and the server passes over it.
        (aborts
         (jsonrpc-async-request connection :abortCompaction (list :sessionId aborts) :success-fn #'ignore)
         (call-process "sleep" nil nil nil "1")
         summary)
        (t summary)))

(defun hear (_connection method params)
  (cond ((eq method 'compactionEnd) (push params ends))
        ((eq method '$/cancelRequest) (setq cancelled t))))

(let* ((default-directory (file-name-as-directory home))
       (process-environment (cons (concat "HOME=" home) process-environment))
       (connection (make-instance
                    'jsonrpc-process-connection
                    :name "compactd" :request-dispatcher #'answer :notification-dispatcher #'hear
                    :process (make-process :name "compactd" :command (list (getenv "COMPACTD_BIN"))
                                           :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t))))
  (cl-flet ((call (method &optional params) (jsonrpc-request connection method params :timeout 20)))
    (cl-assert (null (call :ping)))
    (let ((hello (call :initialize
                       (list :protocolVersion 1 :clientInfo '(:name "jsonrpc.el" :version nil) :cwd home :agentDir home
                             :capabilities '(:summarize t :hooks ["sessionBeforeCompact"])))))
      (cl-assert (equal [] (plist-get hello :diagnostics))))
    (call :listSessions)
    (let* ((session (plist-get (call :createSession (make-hash-table)) :sessionId))
           (compact (list :sessionId session :summarizer "host" :settings '(:keepRecentTokens 300) :customInstructions nil)))
      (dotimes (turn 8)
        (let ((text (format "Turn %d: %s" turn (apply #'concat (make-list 40 "a wish and its reason. ")))))
          (call :appendMessage
                (list :sessionId session :message (list :role "user" :content text :timestamp turn) :expectedLeafId nil))))
      (cl-assert (equal "host" (plist-get (call :compact compact) :summarizer)))
      (cl-assert (and (= hooks 1) (= (length ends) 1)))
      (call :appendMessage
            (list :sessionId session
                  :message (list :role "user" :content (apply #'concat (make-list 600 "More. ")))))
      (setq aborts session)
      (jsonrpc-async-request connection :compact compact
                             :success-fn (lambda (_) (error "It was aborted"))
                             :error-fn (lambda (error) (setq failure error)))
      (wait-for "the error" (lambda () failure))
      (cl-assert (= -32800 (plist-get failure :code)))
      (cl-assert (eq t (plist-get (car ends) :aborted)))
      (wait-for "the cancellation of the request" (lambda () cancelled))
      (cl-assert (null (call :shutdown)))
      (jsonrpc-notify connection :exit nil)
      (wait-for "the end" (lambda () (not (jsonrpc-running-p connection))))
      (cl-assert (= 0 (process-exit-status (jsonrpc--process connection))))))
  (delete-directory home t)
  (princ "ok\n"))
