// Layout of the import graph: groups on a spiral with the largest in the centre, and the modules of each group on a spiral of their
// own. Deterministic, and fast for thousands of modules.

export interface ModuleNode { path: string; group: number | null; lines: number }
export interface NodePosition { x: number; y: number; r: number }
export interface GroupCircle { x: number; y: number; r: number; group: number | null; count: number }

const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const SPACING = 14;

export function layout(nodes: ModuleNode[]): { positions: NodePosition[]; circles: GroupCircle[] } {
  const groups = new Map<number | null, number[]>();
  nodes.forEach((node, number) => groups.set(node.group, [...(groups.get(node.group) ?? []), number]));
  const sorted = [...groups].sort(([, a], [, b]) => b.length - a.length);
  const positions: NodePosition[] = new Array(nodes.length);
  const circles: GroupCircle[] = [];
  for (const [group, members] of sorted) {
    const r = SPACING * Math.sqrt(members.length) + 10;
    const { x, y } = freePosition(circles, r);
    circles.push({ x, y, r, group, count: members.length });
    members.forEach((member, index) => {
      const distance = SPACING * Math.sqrt(index + 0.3);
      const size = 3 + Math.min(7, Math.sqrt(nodes[member]!.lines) / 6);
      positions[member] = { x: x + distance * Math.cos(index * GOLDEN), y: y + distance * Math.sin(index * GOLDEN), r: size };
    });
  }
  return { positions, circles };
}

/** First position on a spiral where a circle overlaps no other. */
function freePosition(circles: GroupCircle[], r: number): { x: number; y: number } {
  if (circles.length === 0) return { x: 0, y: 0 };
  for (let step = 1; ; step += 1) {
    const distance = 6 * Math.sqrt(step * 8);
    const x = distance * Math.cos(step * GOLDEN);
    const y = distance * Math.sin(step * GOLDEN);
    if (circles.every((other) => Math.hypot(other.x - x, other.y - y) > other.r + r + 6)) return { x, y };
  }
}
