import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Devnet, startDevnet } from '#devnet/start-devnet.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import localEcosystem from '#ecosystem/ecosystems/local.ts'
import type { Settings } from './settings.ts'

export interface LocalChains {
  readonly devnet: Devnet
  /** The local ecosystem with the addresses at which the chains and this service answer. */
  readonly file: EcosystemFile
}

/** Where development chains are expected; another process may have the ports. */
const USUAL_PORTS = [8545, 8546] as const

/** Starts the local chains and gives the ecosystem on them. */
export async function startLocalChains(
  settings: Pick<Settings, 'dataFolder' | 'port'>,
  onProgress: (progress: { chain: string; done: number; total: number }) => void,
): Promise<LocalChains> {
  const basePort = await freePort(USUAL_PORTS[0])
  const ethereumPort = await freePort(USUAL_PORTS[1])
  const devnet = await startDevnet({
    dataFolder: join(settings.dataFolder, 'chains'),
    basePort,
    ethereumPort,
    onProgress,
  })
  const urls: Readonly<Record<string, string>> = {
    base: devnet.chains.base.rpcUrl,
    ethereum: devnet.chains.ethereum.rpcUrl,
  }
  const file = localFile(settings.port, urls)
  await writeFile(localFilePath(settings.dataFolder), `${JSON.stringify(file, null, 2)}\n`)
  return { devnet, file }
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
