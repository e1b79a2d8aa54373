import { basename } from 'node:path'

/**
 * Rooms from the lowest to the highest: each imports only itself and those listed above it. A folder
 * inside a room of this list may be a room of its own; the longest folder counts. Tests, and what they share, may import any.
 */
export const rooms: readonly string[] = [
  'src/base',
  'src/config',
  'src/db',
  'contracts',
  'src/ecosystem',
  'src/context',
  'src/route',
  'src/chain',
  'src/index',
  'src/data',
  'src/accounts/ledger',
  'src/accounts',
  'src/payments',
  'src/feed',
  'src/api',
  'src/site',
  'src/ops/health',
  'src/ops/checks',
  'devnet',
  'src/main',
  'src/ops',
  'client',
  'console',
  'examples',
  'test',
  'tools',
]

/** Folders outside `src/` that an import names with `#`. */
const topFolders = rooms.filter((room) => !room.includes('/'))

/** Files of a folder of `src/data/` that belong to another room, by name. */
const kindFileRooms: Readonly<Record<string, string>> = {
  'kind.ts': 'src/ecosystem',
  'kinds.ts': 'src/ecosystem',
  'repeated-burns.ts': 'src/ecosystem',
  'card.ts': 'src/site',
  'cards.ts': 'src/site',
}

/** Whether a file of room `from`, which is no test, may import a file of room `to`. */
export function mayImport(from: string, to: string): boolean {
  return from === 'test' || rooms.indexOf(to) <= rooms.indexOf(from)
}

/**
 * Room of a path from the project's root, with `/` between its parts. A file of `src/` itself is a room of its own.
 * Undefined for files of no room, such as `package.json`.
 */
export function roomOf(path: string): string | undefined {
  if (path.startsWith('src/data/')) return kindFileRooms[basename(path)] ?? 'src/data'
  const folders = rooms.filter(
    (room) => path.startsWith(`${room}/`) || path.replace('.test.', '.') === `${room}.ts`,
  )
  const longest = folders.toSorted((a, b) => b.length - a.length)[0]
  return longest ?? (path.startsWith('src/') ? path : undefined)
}

/** Path from the root that an import of the project's own files means, or undefined for packages. */
export function resolveImport(fromPath: string, specifier: string): string | undefined {
  if (specifier.startsWith('#')) {
    const path = specifier.slice(1)
    return topFolders.includes(path.split('/')[0] ?? '') ? path : `src/${path}`
  }
  if (!specifier.startsWith('.')) return undefined
  return new URL(specifier, `file:///${fromPath}`).pathname.slice(1)
}
