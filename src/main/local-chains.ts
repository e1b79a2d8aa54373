import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '#base/free-port.ts'
import type { Config } from '#config.ts'
import localEcosystem, { onChains } from '#devnet/local-ecosystem.ts'
import type { Devnet, Ports } from '#devnet/start-devnet.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'

interface LocalChains {
  /** The file with the ports in use. */
  readonly file: EcosystemFile
  /** Resolves when the chains have reached the present (seconds). */
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
      // Lazy: only local chains need it.
      const { startDevnet } = await import('#devnet/start-devnet.ts')
      const dataFolder = join(config.dataFolder, 'chains')
      return startDevnet({ dataFolder, ports, onProgress })
    },
  }
}

/** Those of the file, or free ones where they are taken or the service itself takes any. */
async function planPorts(takesAny: boolean): Promise<Ports> {
  const ports = []
  for (const { name, rpcUrls } of localEcosystem.chains)
    ports.push([name, await freePort(takesAny ? 0 : Number(new URL(rpcUrls[0] ?? '').port))])
  return Object.fromEntries(ports)
}

/** The path of the file that other commands read. */
export function localFilePath(dataFolder: string): string {
  return join(dataFolder, 'ecosystem.json')
}

/** Keeps the chains that have a URL. */
export function localFile(port: number, urls: Readonly<Record<string, string>>): EcosystemFile {
  const { service } = localEcosystem
  const file = onChains(localEcosystem, Object.keys(urls))
  return {
    ...file,
    service: { ...service, publicBaseUrl: `http://localhost:${port}` },
    chains: file.chains.map((chain) => ({ ...chain, rpcUrls: [urls[chain.name] ?? ''] })),
  }
}
