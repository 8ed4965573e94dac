// Where modules are drawn: groups on a spiral, the largest in the middle, and the modules of each on a spiral of its own. The same
// modules are always at the same places, and three thousand take no time.

export interface Node { path: string; group: number | null; lines: number }
export interface Placed { x: number; y: number; r: number }
export interface Circle { x: number; y: number; r: number; group: number | null; count: number }

const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const APART = 14;

export function layout(nodes: Node[]): { places: Placed[]; circles: Circle[] } {
  const groups = new Map<number | null, number[]>();
  nodes.forEach((node, number) => groups.set(node.group, [...(groups.get(node.group) ?? []), number]));
  const sorted = [...groups].sort(([, a], [, b]) => b.length - a.length);
  const places: Placed[] = new Array(nodes.length);
  const circles: Circle[] = [];
  for (const [group, members] of sorted) {
    const r = APART * Math.sqrt(members.length) + 10;
    const { x, y } = free(circles, r);
    circles.push({ x, y, r, group, count: members.length });
    members.forEach((member, at) => {
      const far = APART * Math.sqrt(at + 0.3);
      const size = 3 + Math.min(7, Math.sqrt(nodes[member]!.lines) / 6);
      places[member] = { x: x + far * Math.cos(at * GOLDEN), y: y + far * Math.sin(at * GOLDEN), r: size };
    });
  }
  return { places, circles };
}

/** The first place on a spiral where a circle meets no other. */
function free(circles: Circle[], r: number): { x: number; y: number } {
  if (circles.length === 0) return { x: 0, y: 0 };
  for (let step = 1; ; step += 1) {
    const far = 6 * Math.sqrt(step * 8);
    const x = far * Math.cos(step * GOLDEN);
    const y = far * Math.sin(step * GOLDEN);
    if (circles.every((other) => Math.hypot(other.x - x, other.y - y) > other.r + r + 6)) return { x, y };
  }
}
