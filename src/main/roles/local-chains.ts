import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Devnet } from '#devnet/start-devnet.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import localEcosystem from '#ecosystem/ecosystems/local.ts'
import type { Settings } from '../settings.ts'

export interface LocalChains {
  /** With the ports in use. */
  readonly file: EcosystemFile
  /** Resolves when the chains have reached the present (seconds). */
  start(): Promise<Devnet>
}

/** May be taken. */
const USUAL_PORTS = [8545, 8546] as const

export async function planLocalChains(
  settings: Pick<Settings, 'dataFolder' | 'port'>,
  onProgress: (progress: { chain: string; done: number; total: number }) => void,
): Promise<LocalChains> {
  const basePort = await freePort(USUAL_PORTS[0])
  const ethereumPort = await freePort(USUAL_PORTS[1])
  const file = localFile(settings.port, {
    base: `http://127.0.0.1:${basePort}`,
    ethereum: `http://127.0.0.1:${ethereumPort}`,
  })
  await writeFile(localFilePath(settings.dataFolder), `${JSON.stringify(file, null, 2)}\n`)
  return {
    file,
    async start() {
      // Lazy: only local chains need it.
      const { startDevnet } = await import('#devnet/start-devnet.ts')
      const dataFolder = join(settings.dataFolder, 'chains')
      return startDevnet({ dataFolder, basePort, ethereumPort, onProgress })
    },
  }
}

/** For the other commands. */
export function localFilePath(dataFolder: string): string {
  return join(dataFolder, 'ecosystem.json')
}

export function localFile(port: number, urls: Readonly<Record<string, string>>): EcosystemFile {
  return {
    ...localEcosystem,
    service: { ...localEcosystem.service, publicBaseUrl: `http://localhost:${port}` },
    chains: localEcosystem.chains.map((chain) => ({
      ...chain,
      rpcUrls: [urls[chain.name] ?? chain.rpcUrls[0] ?? ''],
    })),
  }
}

/** `wanted` if it is free on 127.0.0.1, else one from the system. */
export async function freePort(wanted: number): Promise<number> {
  const probe = createServer()
  try {
    probe.listen(wanted, '127.0.0.1')
    await once(probe, 'listening')
    const address = probe.address()
    return typeof address === 'object' && address !== null ? address.port : wanted
  } catch {
    return freePort(0)
  } finally {
    probe.close()
  }
}
