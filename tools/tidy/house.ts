import { basename } from 'node:path'

/**
 * Rooms below `src/`, grouped by what a person looks for: a wing is a folder of rooms. Rooms of no
 * wing are folders of `src/` itself.
 */
export const wings: Readonly<Record<string, readonly string[]>> = {
  chains: ['ecosystem', 'chain', 'indexer', 'datasets', 'statistics'],
  callers: ['keys', 'metering'],
  money: ['payments', 'x402'],
  serving: ['http', 'api', 'stream', 'webhooks', 'site'],
  operations: ['jobs', 'health', 'audit', 'upkeep', 'backup', 'setup', 'cli'],
}

/**
 * The house: each room is a layer, and beside it stand the layers that it may import, all of them
 * further up. `lib` and `domain` are open to every layer but `lib`, which stands alone.
 * The list is strict: that a neighbour may import a layer gives no right to it.
 * Tests (`*.test.ts`) may import any layer.
 */
export const house: Readonly<Record<string, readonly string[] | 'everything'>> = {
  lib: [],
  domain: [],
  ecosystem: [],
  store: [],
  chain: [],
  http: [],
  route: ['http'],
  jobs: ['store'],
  ledger: ['store'],
  indexer: ['chain', 'jobs', 'store', 'ecosystem'],
  keys: ['ledger', 'store', 'http', 'route'],
  payments: ['keys', 'ledger', 'chain', 'jobs', 'store', 'ecosystem', 'http', 'route'],
  metering: ['keys', 'ledger', 'jobs', 'store', 'http', 'route'],
  x402: [
    'metering',
    'payments',
    'keys',
    'ledger',
    'chain',
    'jobs',
    'store',
    'ecosystem',
    'http',
    'route',
  ],
  datasets: ['indexer', 'chain', 'jobs', 'store', 'ecosystem', 'http', 'route'],
  stream: ['datasets', 'indexer', 'store', 'ecosystem', 'http', 'route'],
  webhooks: [
    'stream',
    'metering',
    'keys',
    'datasets',
    'indexer',
    'ledger',
    'jobs',
    'store',
    'ecosystem',
    'http',
    'route',
  ],
  statistics: ['datasets', 'indexer', 'store', 'ecosystem', 'http', 'route'],
  api: ['statistics', 'datasets', 'metering', 'keys', 'payments', 'http', 'route'],
  site: ['api', 'http', 'route'],
  health: [
    'api',
    'statistics',
    'webhooks',
    'datasets',
    'x402',
    'payments',
    'indexer',
    'ledger',
    'chain',
    'jobs',
    'store',
    'ecosystem',
  ],
  main: [
    'health',
    'site',
    'api',
    'statistics',
    'stream',
    'webhooks',
    'datasets',
    'metering',
    'keys',
    'x402',
    'payments',
    'indexer',
    'ledger',
    'chain',
    'jobs',
    'store',
    'ecosystem',
    'http',
    'route',
    'devnet',
  ],
  upkeep: ['main', 'keys', 'ledger', 'jobs', 'store'],
  audit: [
    'upkeep',
    'main',
    'statistics',
    'webhooks',
    'datasets',
    'metering',
    'keys',
    'x402',
    'payments',
    'indexer',
    'ledger',
    'chain',
    'jobs',
    'store',
    'ecosystem',
  ],
  backup: ['audit', 'upkeep', 'main', 'store'],
  setup: ['main', 'datasets', 'indexer', 'chain', 'store', 'ecosystem'],
  cli: 'everything',

  client: [],
  console: ['site'],
  contracts: [],
  devnet: ['ecosystem', 'contracts'],
  examples: [],
  test: 'everything',
  tools: 'everything',
}

/** Layers that import nothing at all. */
const alone: readonly string[] = ['lib']
const openToAll: readonly string[] = ['lib', 'domain']
/** Layers outside `src/`, each a folder at the top. */
const topFolders: readonly string[] = [
  'client',
  'console',
  'contracts',
  'devnet',
  'examples',
  'test',
  'tools',
]

/** A kind of event is one folder of `src/chains/kinds/`: each of its files belongs to a layer. */
const kindFileLayers: Readonly<Record<string, string>> = {
  'kind.ts': 'ecosystem',
  'kinds.ts': 'ecosystem',
  'known-events.ts': 'ecosystem',
  'repeated-burns.ts': 'ecosystem',
  'card.ts': 'site',
  'cards.ts': 'site',
}

/** What a layer may import besides itself, in words for the mend. */
export function allowedImports(layer: string): readonly string[] | 'everything' {
  const listed = house[layer] ?? []
  if (listed === 'everything' || alone.includes(layer)) return listed
  const open = openToAll.filter((each) => each !== layer)
  return layer === 'domain' ? ['lib'] : [...open, ...listed]
}

/** Whether a file of layer `from`, which is no test, may import a file of layer `to`. */
export function mayImport(from: string, to: string): boolean {
  const allowed = allowedImports(from)
  return from === to || allowed === 'everything' || allowed.includes(to)
}

/**
 * Layer of a path from the project's root, with `/` between its parts: the room below `src/`,
 * or a top folder. Undefined for files of no layer, such as `package.json`.
 */
export function layerOf(path: string): string | undefined {
  const [top = '', ...below] = path.split('/').slice(0, -1)
  if (path.startsWith('src/chains/kinds/')) return kindFileLayers[basename(path)] ?? 'datasets'
  if (top === 'src') return roomOf(below)
  return topFolders.includes(top) ? top : undefined
}

/** A folder that is no room keeps its whole name, which the house does not list. */
function roomOf([first = 'src', second]: readonly string[]): string {
  const rooms = wings[first]
  if (rooms === undefined) return inAWing(first) ? `src/${first}` : first
  return second !== undefined && rooms.includes(second) ? second : [first, second].join('/')
}

function inAWing(room: string): boolean {
  return Object.values(wings).some((rooms) => rooms.includes(room))
}

/** Path from the root that an import of the project's own files means, or undefined for packages. */
export function resolveImport(fromPath: string, specifier: string): string | undefined {
  if (specifier.startsWith('#')) {
    const path = specifier.slice(1)
    const isTop = topFolders.includes(path.split('/')[0] ?? '')
    return isTop ? path : `src/${path}`
  }
  if (!specifier.startsWith('.')) return undefined
  return new URL(specifier, `file:///${fromPath}`).pathname.slice(1)
}
