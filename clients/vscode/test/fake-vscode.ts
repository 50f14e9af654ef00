/** The part of the API of VS Code that the extension uses: it records what a person would see. */
import Module from "node:module";

export const shown: string[] = [];
export const answers: { input?: string; action?: string; file?: string } = {};
export const settings: { [name: string]: unknown } = {};
export const documents = new Map<string, string>();
export let view: { description?: string; options: any } | undefined;

const commands = new Map<string, (argument?: unknown) => Promise<unknown>>();
let provider: any;

class EventEmitter {
  readonly #listeners: (() => void)[] = [];
  readonly event = (listener: () => void) => void this.#listeners.push(listener);
  fire(): void {
    for (const listener of this.#listeners) listener();
  }
}

class Uri {
  readonly fsPath: string;
  constructor(readonly text: string) {
    this.fsPath = text.replace(/^[a-z]+:/, "");
  }
  static parse = (text: string) => new Uri(text);
  static file = (path: string) => new Uri(`file:${path}`);
  toString = () => this.text;
}

class TreeItem {
  constructor(readonly label: string, readonly collapsibleState: number) {}
}

class ThemeIcon {
  constructor(readonly id: string) {}
}

const nothing = { dispose() {} };
const read = async (uri: Uri) => void documents.set(uri.toString(), await provider.provideTextDocumentContent(uri));

export const vscode = {
  EventEmitter,
  Uri,
  TreeItem,
  ThemeIcon,
  TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
  ProgressLocation: { Notification: 15 },
  window: {
    createOutputChannel: () => ({ append() {}, ...nothing }),
    createTreeView(_: string, options: unknown) {
      return (view = { options, ...nothing });
    },
    showInputBox: async () => answers.input,
    showOpenDialog: async () => [Uri.file(answers.file!)],
    async showInformationMessage(text: string) {
      shown.push(`information: ${text}`);
      const { action } = answers;
      delete answers.action;
      return action;
    },
    showErrorMessage: async (text: string) => void shown.push(`error: ${text}`),
    async withProgress(options: { title: string }, work: (progress: unknown, token: unknown) => Promise<unknown>) {
      const progress = { report: ({ message }: { message: string }) => shown.push(`${options.title}: ${message}`) };
      const token = { isCancellationRequested: false, onCancellationRequested: () => nothing };
      return work(progress, token);
    },
    async showTextDocument(uri: Uri) {
      shown.push(`document: ${uri}`);
    },
  },
  workspace: {
    workspaceFolders: undefined,
    getConfiguration: () => ({ get: (name: string) => settings[name] }),
    registerTextDocumentContentProvider(_: string, given: unknown) {
      provider = given;
      return nothing;
    },
    async openTextDocument(uri: Uri) {
      await read(uri);
      return uri;
    },
  },
  commands: {
    registerCommand(name: string, run: (argument?: unknown) => Promise<unknown>) {
      commands.set(name, run);
      return nothing;
    },
    async executeCommand(name: string, ...given: any[]) {
      if (name === "vscode.diff") {
        await Promise.all([read(given[0]), read(given[1])]);
        shown.push(`diff: ${given[2]}`, documents.get(String(given[0]))!, documents.get(String(given[1]))!);
      } else if (name !== "setContext") {
        await commands.get(name)!(given[0]);
      }
    },
  },
  env: { clipboard: { writeText: async (text: string) => void shown.push(`clipboard: ${text}`) } },
};

const load = (Module as any)._load;
(Module as any)._load = (name: string, ...rest: unknown[]) => (name === "vscode" ? vscode : load(name, ...rest));
