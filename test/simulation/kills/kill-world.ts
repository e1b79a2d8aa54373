import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { localFile } from '#main/start/local-chains.ts'
import type { IndexPlace } from './index-process.ts'
import { type ServedHistory, serveHistory } from './served-history.ts'

/** Chains to index, and folders to index them into. */
export interface KillWorld {
  readonly ecosystem: Ecosystem
  readonly chains: readonly ServedHistory[]
  /** An empty place under a name of its own. */
  makePlace(name: string): IndexPlace
  /** A file beside the places. */
  fileAt(name: string): string
  stop(): Promise<void>
}

/** Makes the world of a seed. */
export async function makeKillWorld(seed: number): Promise<KillWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-kills-'))
  const clear = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', clear)
  const clockStartMs = Date.now()
  const chains = [await serveHistory('base', seed), await serveHistory('ethereum', seed)]
  const local = localFile(4020, Object.fromEntries(chains.map(({ name, url }) => [name, url])))
  const file = {
    ...local,
    // Made-up blocks have no provable hashes.
    chains: local.chains.map((chain) => ({ ...chain, pollIntervalMs: 100, proofs: 'deposits' })),
  }
  const ecosystemFile = join(folder, 'ecosystem.json')
  writeFileSync(ecosystemFile, JSON.stringify(file))
  const heads = Object.fromEntries(chains.map(({ name, headNumber }) => [name, headNumber]))
  return {
    ecosystem: parseEcosystem(ecosystemFile, file),
    chains,
    fileAt: (name) => join(folder, name),
    makePlace(name) {
      const place = join(folder, name)
      mkdirSync(place)
      return { folder: place, ecosystemFile, clockStartMs, heads }
    },
    async stop() {
      for (const chain of chains) await chain.stop()
      process.off('exit', clear)
      clear()
    },
  }
}
