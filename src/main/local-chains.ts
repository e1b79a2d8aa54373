import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '#base/free-port.ts'
import type { Config } from '#config.ts'
import localEcosystem, { onChains } from '#devnet/local-ecosystem.ts'
import type { Devnet, Ports } from '#devnet/start-devnet.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'

interface LocalChains {
  /** The file, with the ports in use. */
  readonly file: EcosystemFile
  /** Resolves once the chains have caught up with the present; takes seconds. */
  start(): Promise<Devnet>
}

export async function planLocalChains(
  config: Pick<Config, 'dataFolder' | 'port'> & { readonly takesAnyPorts: boolean },
  onProgress: (progress: { chain: string; done: number; total: number }) => void,
): Promise<LocalChains> {
  const ports = await planPorts(config.takesAnyPorts)
  const urls = Object.entries(ports).map(([name, port]) => [name, `http://127.0.0.1:${port}`])
  const file = localFile(config.port, Object.fromEntries(urls))
  await writeFile(localFilePath(config.dataFolder), `${JSON.stringify(file, null, 2)}\n`)
  return {
    file,
    async start() {
      // Loaded on demand, because only local chains need it.
      const { startDevnet } = await import('#devnet/start-devnet.ts')
      const dataFolder = join(config.dataFolder, 'chains')
      return startDevnet({ dataFolder, ports, onProgress })
    },
  }
}

/** Uses the file's ports, or free ones if those are taken or the service itself may use any. */
async function planPorts(takesAny: boolean): Promise<Ports> {
  const ports = []
  for (const { name, rpcUrls } of localEcosystem.chains)
    ports.push([name, await freePort(takesAny ? 0 : Number(new URL(rpcUrls[0] ?? '').port))])
  return Object.fromEntries(ports)
}

/** Path of the file that other commands read. */
export function localFilePath(dataFolder: string): string {
  return join(dataFolder, 'ecosystem.json')
}

/** Drops the chains without a URL. */
export function localFile(port: number, urls: Readonly<Record<string, string>>): EcosystemFile {
  const { service } = localEcosystem
  const file = onChains(localEcosystem, Object.keys(urls))
  return {
    ...file,
    service: { ...service, publicBaseUrl: `http://localhost:${port}` },
    chains: file.chains.map((chain) => ({ ...chain, rpcUrls: [urls[chain.name] ?? ''] })),
  }
}
