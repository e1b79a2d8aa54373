import { basename } from 'node:path'

/**
 * Rooms from the lowest to the highest: each imports only itself and those listed above it. A folder
 * inside a room of this list may be a room of its own; the longest folder counts. Tests, and what they share, may import any.
 */
export const rooms: readonly string[] = [
  'src/lib',
  'src/domain',
  'src/config',
  'src/store',
  'contracts',
  'src/chains/ecosystem',
  'src/context',
  'src/route',
  'src/operations/jobs',
  'src/chains/chain',
  'src/chains/indexer',
  'src/chains/datasets',
  'src/chains/statistics',
  'src/accounts/ledger',
  'src/accounts',
  'src/money',
  'src/serving/stream',
  'src/serving/webhooks',
  'src/api',
  'src/serving/site',
  'src/operations/health',
  'devnet',
  'src/main',
  'src/operations/audit',
  'src/operations/setup',
  'src/operations/cli',
  'client',
  'console',
  'examples',
  'test',
  'tools',
]

/** Folders outside `src/` that an import names with `#`. */
const topFolders = rooms.filter((room) => !room.includes('/'))

/** A kind of event is one folder of `src/chains/kinds/`: each of its files belongs to a room. */
const kindFileRooms: Readonly<Record<string, string>> = {
  'kind.ts': 'src/chains/ecosystem',
  'kinds.ts': 'src/chains/ecosystem',
  'known-events.ts': 'src/chains/ecosystem',
  'repeated-burns.ts': 'src/chains/ecosystem',
  'card.ts': 'src/serving/site',
  'cards.ts': 'src/serving/site',
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
  if (path.startsWith('src/chains/kinds/'))
    return kindFileRooms[basename(path)] ?? 'src/chains/datasets'
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
