/** An entry, as `getTree` tells it. */
export interface TreeNode {
  id: string;
  parentId: string | null;
  type: string;
  preview: string;
  role?: string | null;
  label?: string | null;
}

export interface Tree {
  leafId: string | null;
  nodes: TreeNode[];
}

/** An entry that is shown. */
export interface Row {
  node: TreeNode;
  /** Whether it is on the path that ends with the leaf. */
  onPath: boolean;
  isLeaf: boolean;
  /** What branches off here, each branch by its first entry; for the first entry of a branch also what follows it there. */
  children: Row[];
}

/** What these entries keep is shown with others, or is nothing that a person reads. */
const HIDDEN = new Set([
  "context_edit",
  "custom",
  "label",
  "model_change",
  "session_info",
  "thinking_level_change",
  "usage",
]);
const NAMES: { [kind: string]: string } = {
  toolResult: "result",
  bashExecution: "command",
  branch_summary: "summary",
  custom_message: "message",
};

/** What an entry is, in a word. */
export function kind(node: TreeNode): string {
  const name = node.role ?? node.type;
  return NAMES[name] ?? name;
}

/** What an entry says. Of a summary that is its goal; its headings tell a person nothing. */
export function preview(node: TreeNode): string {
  const goal = /^## Goal - (.*)$/s.exec(node.preview)?.[1];
  return goal?.replace(/ ## .*/s, " …") || node.preview || kind(node);
}

/** The entries of the current path; what branches off hangs below the entry at which it does. */
export function rows(tree: Tree): Row[] {
  const nodes = new Map(tree.nodes.map((node) => [node.id, node]));
  const shown = (id: string | null): string | null => {
    let node = id === null ? undefined : nodes.get(id);
    while (node !== undefined && HIDDEN.has(node.type)) node = node.parentId === null ? undefined : nodes.get(node.parentId);
    return node?.id ?? null;
  };
  const path = new Set<string>();
  for (let id = tree.leafId; id !== null && nodes.has(id) && !path.has(id); id = nodes.get(id)!.parentId) path.add(id);
  const leaf = shown(tree.leafId);
  const children = new Map<string | null, Row[]>();
  const all: Row[] = [];
  for (const node of tree.nodes.filter(({ type }) => !HIDDEN.has(type))) {
    const row = { node, onPath: path.has(node.id), isLeaf: node.id === leaf, children: [] };
    all.push(row);
    const parent = shown(node.parentId);
    children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  const main = (siblings: Row[]) => siblings.find(({ onPath }) => onPath) ?? siblings.at(-1);
  const below = (row: Row) => children.get(row.node.id) ?? [];
  const chain = (first: Row | undefined) => {
    const found: Row[] = [];
    for (let row = first; row !== undefined; row = main(below(row))) found.push(row);
    return found;
  };
  const branches = (row: Row) => below(row).filter((child) => child !== main(below(row)));
  for (const row of all) row.children = branches(row);
  const roots = children.get(null) ?? [];
  const heads = new Set([...all.flatMap(branches), ...roots.filter((row) => row !== main(roots))]);
  for (const head of heads) head.children = [...branches(head), ...chain(main(below(head)))];
  return [...roots.filter((row) => heads.has(row)), ...chain(main(roots))];
}

/** How many entries are shown, and how many branches: entries that nothing that is shown follows. */
export function count(tree: Tree): { entries: number; branches: number } {
  const walk = (some: Row[]): Row[] => some.flatMap((row) => [row, ...walk(row.children)]);
  const parents = new Set<string | null>();
  const nodes = new Map(tree.nodes.map((node) => [node.id, node]));
  const every = walk(rows(tree));
  for (const { node } of every) {
    let parent = node.parentId;
    while (parent !== null && HIDDEN.has(nodes.get(parent)?.type ?? "")) parent = nodes.get(parent)!.parentId;
    parents.add(parent);
  }
  return { entries: every.length, branches: every.filter(({ node }) => !parents.has(node.id)).length };
}
