import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { type Address, parseAddress, showAddress } from '#domain/address.ts'
import type { Clock } from '#lib/time.ts'
import { type ChainView, openChains, SetupError } from './discover/chain-view.ts'
import { type Answers, type Draft, draftFile } from './discover/draft-file.ts'
import { type Findings, inspectChain } from './discover/inspect-chain.ts'
import { contractsAmong } from './discover/token-facts.ts'
import { writeJson, writeModule } from './write-config.ts'

export interface InitRequest {
  readonly address: string
  readonly rpc: readonly string[]
  /** `<chain>=0x…`, where the token has another address. */
  readonly token: readonly string[]
  readonly contract: readonly string[]
  readonly json: boolean
  readonly force: boolean
  readonly output?: string | undefined
  readonly port: number
}

export interface InitDeps {
  readonly clock: Clock
  /** Asked once the chains are known; defaults where nothing may be asked. */
  askOperator(defaults: Answers): Promise<Answers>
  onProgress(task: string, done: number, total: number): void
  say(line: string): void
}

export interface Initialized {
  readonly path: string
  readonly draft: Draft
}

/** Looks everything up before it writes; throws SetupError and leaves no file. */
export async function init(deps: InitDeps, request: InitRequest): Promise<Initialized> {
  const path = request.output ?? (request.json ? 'sexton.config.json' : 'sexton.config.ts')
  if (existsSync(path) && !request.force)
    throw new SetupError(`${path} exists already; remove it, or overwrite it with --force`)
  const addresses = readAddresses(request)
  const views = await openChains(request.rpc, deps.clock)
  const found = await inspectAll(deps, views, addresses)
  const [first] = found
  if (first === undefined)
    throw new SetupError(
      `${request.address}: no contract there on ${views.map(({ name }) => name).join(', ')}; check the address and the chains`,
    )
  const answers = await deps.askOperator({
    serviceName: serviceNameOf(first),
    publicBaseUrl: `http://localhost:${request.port}`,
    payTo: undefined,
    today: new Date(deps.clock()).toISOString().slice(0, 10),
  })
  const draft = draftFile(found, answers)
  parseEcosystem(path, draft.file)
  await writeFile(path, request.json ? writeJson(draft) : writeModule(draft))
  return { path, draft }
}

interface Addresses {
  readonly primary: Address
  readonly byChain: ReadonlyMap<string, Address>
  readonly more: readonly Address[]
}

function readAddresses({ address, token, contract }: InitRequest): Addresses {
  const problems: string[] = []
  const read = (where: string, text: string): Address => {
    const parsed = parseAddress(text)
    if (parsed === undefined)
      problems.push(
        `${where}: not an EVM address: "${text}"; write 0x and 40 hex digits, with the EIP-55 checksum if in mixed case`,
      )
    return parsed ?? '0x'
  }
  const primary = read('token address', address)
  const byChain = new Map(
    token.map((each) => {
      const [chain = '', text = ''] = each.split('=')
      return [chain, read(`--token ${each}`, text)] as const
    }),
  )
  const more = contract.map((each) => read('--contract', each))
  if (problems.length > 0) throw new SetupError(problems.join('\n'))
  return { primary, byChain, more }
}

const STEPS = 4

async function inspectAll(
  { onProgress, say }: InitDeps,
  views: Awaited<ReturnType<typeof openChains>>,
  { primary, byChain, more }: Addresses,
): Promise<readonly Findings[]> {
  refuseUnknownChains(views, byChain)
  const found = await Promise.all(
    views.map(async (view) => {
      const named = byChain.get(view.name)
      const address = named ?? primary
      const [contract] = await contractsAmong(view, [address])
      if (contract === undefined) {
        if (named !== undefined)
          throw new SetupError(
            `--token ${view.name}=${named}: no contract there; correct the address`,
          )
        say(`${view.name}: no contract at ${showAddress(address)}; left out`)
        return undefined
      }
      let step = 0
      const onStep = (task: string) => {
        onProgress(`${view.name}: ${task}`, step, STEPS)
        step += 1
      }
      return inspectChain({ view, address, more, onStep })
    }),
  )
  return found.filter((each) => each !== undefined)
}

function refuseUnknownChains(views: readonly ChainView[], named: Addresses['byChain']): void {
  const known = views.map(({ name }) => name)
  const unknown = [...named.keys()].filter((each) => !known.includes(each))
  if (unknown.length === 0) return
  throw new SetupError(
    unknown
      .map((each) => `--token ${each}: unknown chain "${each}"; known: ${known.join(', ')}`)
      .join('\n'),
  )
}

/** Derives the service's name from the token's; signed messages allow printable ASCII only. */
function serviceNameOf({ token }: Findings): string {
  const name = token.name.replace(/[^\x20-\x7e]/g, '').trim()
  return `${name || token.symbol} API`.slice(0, 64)
}
