import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Devnet } from '#devnet/start-devnet.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import localEcosystem from '#ecosystem/ecosystems/local.ts'
import type { Settings } from '../settings.ts'

export interface LocalChains {
  /** The local ecosystem with the addresses at which the chains and this service answer. */
  readonly file: EcosystemFile
  /** Starts the chains; seconds pass until they have reached now. */
  start(): Promise<Devnet>
}

/** Where development chains are expected; another process may have the ports. */
const USUAL_PORTS = [8545, 8546] as const

/** Chooses where the local chains will answer, and gives the ecosystem on them. */
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
      // Only those who want local chains load what builds them.
      const { startDevnet } = await import('#devnet/start-devnet.ts')
      const dataFolder = join(settings.dataFolder, 'chains')
      return startDevnet({ dataFolder, basePort, ethereumPort, onProgress })
    },
  }
}

/** Where `start` leaves the local ecosystem with the ports in use, for the other commands. */
export function localFilePath(dataFolder: string): string {
  return join(dataFolder, 'ecosystem.json')
}

/** The local ecosystem at other addresses. */
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

/** The wanted port of 127.0.0.1 when nobody listens there, else one that the system gives. */
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
