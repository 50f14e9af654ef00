import * as vscode from "vscode";
import { Server, reason } from "./server";
import { Session } from "./session";
import { type Row, kind, preview } from "./tree";

const SCHEME = "compactd";

let extension: Extension | undefined;

export function activate(context: vscode.ExtensionContext): void {
  extension = new Extension();
  context.subscriptions.push(...extension.register());
}

export async function deactivate(): Promise<void> {
  await extension?.stop();
}

/** The view, its commands, and the server behind them. */
class Extension implements vscode.TreeDataProvider<Row>, vscode.TextDocumentContentProvider {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #log = vscode.window.createOutputChannel("compactd");
  readonly #texts = new Map<string, string>();
  #view!: vscode.TreeView<Row>;
  #server: Server | undefined;
  #session: Session | undefined;

  register(): vscode.Disposable[] {
    this.#view = vscode.window.createTreeView("compactd.tree", { treeDataProvider: this });
    const command = (name: string, run: (argument?: any) => Promise<unknown>) =>
      vscode.commands.registerCommand(`compactd.${name}`, (argument) => this.#guard(() => run(argument)));
    return [
      this.#view,
      this.#log,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      command("open", (file?: vscode.Uri) => this.#open(file)),
      command("refresh", () => this.#refresh()),
      command("compact", () => this.#compact()),
      command("dryRun", () => this.#dryRun()),
      command("undo", () => this.#undo()),
      command("go", (row: Row) => this.#go(row, false)),
      command("goWithSummary", (row: Row) => this.#go(row, true)),
      command("show", (row: Row) => this.#show(row)),
    ];
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  getChildren(row?: Row): Row[] {
    return row?.children ?? this.#session?.rows ?? [];
  }

  getTreeItem(row: Row): vscode.TreeItem {
    const { Collapsed, None } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(preview(row.node), row.children.length > 0 ? Collapsed : None);
    const marks = [kind(row.node), row.node.label ? `[${row.node.label}]` : "", row.isLeaf ? "◀ leaf" : ""];
    item.id = row.node.id;
    item.description = marks.filter((mark) => mark !== "").join(" ");
    item.iconPath = new vscode.ThemeIcon(row.isLeaf ? "circle-filled" : row.onPath ? "circle-outline" : "git-branch");
    item.command = { command: "compactd.show", title: "Show the entry", arguments: [row] };
    return item;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? "";
  }

  async #open(file?: vscode.Uri): Promise<void> {
    const filters = { "Session files": ["jsonl"] };
    const chosen = file ?? (await vscode.window.showOpenDialog({ filters }))?.[0];
    if (chosen === undefined) return;
    const session = new Session(chosen.fsPath, (...request) => this.#running().request(...request));
    await session.open();
    const before = this.#session;
    this.#session = session;
    if (before !== undefined && before.path !== session.path) await before.close();
    await vscode.commands.executeCommand("setContext", "compactd.isOpen", true);
    this.#update();
  }

  async #refresh(): Promise<void> {
    await this.#opened().refresh();
    this.#update();
  }

  async #compact(): Promise<void> {
    const session = this.#opened();
    const prompt = "What the summary should look at; nothing for the usual";
    const instructions = await vscode.window.showInputBox({ prompt, title: "Compact" });
    if (instructions === undefined) return;
    const told = await this.#withProgress("Compacting", (tell, token) => session.compact(instructions || undefined, tell, token));
    this.#update();
    if ((await vscode.window.showInformationMessage(told, "Undo")) === "Undo") await this.#undo();
  }

  async #undo(): Promise<void> {
    const told = await this.#opened().undo();
    this.#update();
    void vscode.window.showInformationMessage(told);
  }

  async #go(row: Row, summarize: boolean): Promise<void> {
    const session = this.#opened();
    const title = summarize ? "Summarising the branch that is left" : "Going there";
    const [told, text] = await this.#withProgress(title, (tell, token) => session.go(row.node.id, summarize, tell, token));
    if (text !== undefined) await vscode.env.clipboard.writeText(text);
    this.#update();
    void vscode.window.showInformationMessage(told);
  }

  async #dryRun(): Promise<void> {
    const run = await this.#opened().dryRun();
    if ("nothing" in run) return void vscode.window.showInformationMessage(run.nothing);
    const [before, after] = [this.#document("before.txt", run.before), this.#document("after.txt", run.after)];
    await vscode.commands.executeCommand("vscode.diff", before, after, run.title);
  }

  async #show(row: Row): Promise<void> {
    const text = await this.#opened().show(row.node.id);
    const uri = this.#document(`${row.node.id}.md`, text);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
  }

  #document(name: string, text: string): vscode.Uri {
    // The number keeps a document that is shown already from being taken for the new one.
    const uri = vscode.Uri.parse(`${SCHEME}:/${this.#texts.size}/${name}`);
    this.#texts.set(uri.toString(), text);
    return uri;
  }

  async #withProgress<T>(title: string, work: (tell: (message: string) => void, token: vscode.CancellationToken) => Promise<T>): Promise<T> {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    return vscode.window.withProgress(options, (progress, token) => work((message) => progress.report({ message }), token));
  }

  #opened(): Session {
    if (this.#session === undefined) throw new Error("no session is open");
    return this.#session;
  }

  #running(): Server {
    if (this.#server !== undefined && !this.#server.ended) return this.#server;
    const configuration = vscode.workspace.getConfiguration("compactd");
    this.#server = new Server({
      command: configuration.get<string>("path") || process.env.COMPACTD_BIN || "compactd",
      cwd: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? process.cwd(),
      settings: configuration.get<object>("settings") ?? {},
      onLog: (text) => this.#log.append(text),
      onNotification: (method, params) => {
        if (this.#session?.hear(method, params)) void this.#guard(() => this.#refresh());
      },
    });
    return this.#server;
  }

  #update(): void {
    this.#view.description = this.#session?.title;
    this.#changed.fire();
  }

  /** Tells a person of what fails. */
  async #guard(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await vscode.window.showErrorMessage(`compactd: ${reason(error)}`);
      this.#update();
    }
  }
}
