import type { Engine } from '#db/engine.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { beginChain } from './chain-builder/built-chain.ts'
import { type LivelyBlock, live } from './chain-builder/random-life.ts'
import { serveChain } from './chain-builder/serve-chain.ts'
import { localEcosystemAt } from './indexed-ecosystem.ts'
import { advanceAll, commitDepsOf, stepIndex } from './stepped-index.ts'

export const GENESIS_UNIX = 1_700_000_000
export const ZERO = '0x0000000000000000000000000000000000000000'

/** Mints, burns, claims and prices on both chains, and a chain that is final well below its head. */
const deeds: LivelyBlock['deeds'] = [
  { kind: 'mint', who: 1, whom: 1, size: 50 },
  { kind: 'mint', who: 1, whom: 1, size: 51 },
  { kind: 'moveGrave', who: 1, whom: 7, size: 10 },
  { kind: 'moveGrave', who: 1, whom: 6, size: 10 },
  { kind: 'claim', who: 1, whom: 2, size: 5 },
  { kind: 'sync', who: 0, whom: 0, size: 9 },
  { kind: 'sync', who: 1, whom: 0, size: 9 },
  { kind: 'answer', who: 0, whom: 0, size: 90 },
]
const blocks = Array.from({ length: 30 }, () => ({ secondsApart: 3_600, deeds }))

export type Edit = (file: EcosystemFile) => EcosystemFile
export type World = (edit?: Edit) => Ecosystem

export async function withChains(work: (at: World) => Promise<void>): Promise<void> {
  const serve = (id: number, name: 'base' | 'ethereum') =>
    serveChain(live(beginChain(id, GENESIS_UNIX), name, blocks).addEmpty(70), { finalDepth: 4 })
  const [base, ethereum] = await Promise.all([serve(8453, 'base'), serve(1, 'ethereum')])
  try {
    await work((edit) => localEcosystemAt({ base: base.url, ethereum: ethereum.url }, edit))
  } finally {
    await Promise.all([base.stop(), ethereum.stop()])
  }
}

export async function indexAll(engine: Engine, ecosystem: Ecosystem): Promise<void> {
  await advanceAll(stepIndex(await commitDepsOf(engine, ecosystem)), ecosystem.chains)
}
