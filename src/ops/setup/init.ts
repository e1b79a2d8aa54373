import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type Address, parseAddress, showAddress } from '#base/address.ts'
import { type Clock, toDate, unixNow } from '#base/time.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { type Answers, type Draft, draftFile } from '#ops/setup/draft-file.ts'
import { type ChainView, openChains, SetupError } from './chain-view.ts'
import { type Findings, inspectChain } from './inspect-chain.ts'

export interface InitRequest {
  readonly address: string
  readonly rpc: readonly string[]
  /** `<chain>=0x…`, where the token has another address. */
  readonly token: readonly string[]
  readonly contract: readonly string[]
  readonly force: boolean
  readonly output?: string | undefined
  readonly port: number
}

interface InitDeps {
  readonly clock: Clock
  /** Asked once the chains are known; defaults where nothing may be asked. */
  askOperator(defaults: Answers): Promise<Answers>
  say(line: string): void
}

interface Initialized {
  readonly path: string
  readonly draft: Draft
}

/** Looks everything up before it writes; throws SetupError and leaves no file. */
export async function init(deps: InitDeps, request: InitRequest): Promise<Initialized> {
  const path = request.output ?? 'sexton.config.ts'
  if (existsSync(path) && !request.force)
    throw new SetupError(`${path} exists already; remove it, or overwrite it with --force`)
  if (!existsSync(dirname(resolve(path))))
    throw new SetupError(`--output ${path}: there is no folder ${dirname(path)}; make it first`)
  if (!/\.([cm]?[jt]s|json)$/.test(path))
    throw new SetupError(
      `--output ${path}: not a name of an ecosystem file; end it in .ts or .json`,
    )
  const addresses = readAddresses(request)
  const views = await openChains(request.rpc)
  const names = views.map(({ name }) => name)
  const known = names.join(', ')
  const unknown = [...addresses.byChain.keys()].filter((each) => !names.includes(each))
  if (unknown.length > 0) {
    const lines = unknown.map((each) => `--token ${each}: unknown chain "${each}"; known: ${known}`)
    throw new SetupError(lines.join('\n'))
  }
  const [first, ...more] = await inspectAll(deps, views, addresses)
  if (first === undefined)
    throw new SetupError(
      `${request.address}: no contract there on ${known}; check the address and the chains`,
    )
  const answers = await deps.askOperator({
    serviceName: proposeServiceName(first),
    publicBaseUrl: `http://localhost:${request.port}`,
    payTo: undefined,
    today: toDate(unixNow(deps.clock)),
  })
  const draft = draftFile([first, ...more], answers)
  parseEcosystem(path, draft.file)
  await writeFile(
    path,
    path.endsWith('.json') ? `${JSON.stringify(draft.file, null, 2)}\n` : writeModule(draft),
  )
  return { path, draft }
}

interface Addresses {
  readonly primary: Address
  readonly byChain: ReadonlyMap<string, Address>
  readonly contracts: readonly Address[]
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
  const contracts = contract.map((each) => read('--contract', each))
  if (problems.length > 0) throw new SetupError(problems.join('\n'))
  return { primary, byChain, contracts }
}

async function inspectAll(
  { say }: InitDeps,
  views: readonly ChainView[],
  { primary, byChain, contracts }: Addresses,
): Promise<readonly Findings[]> {
  const inspect = async (view: ChainView): Promise<Findings | undefined> => {
    const { name, source } = view
    const named = byChain.get(name)
    const address = named ?? primary
    if ((await source.code(address).catch(() => '0x')) === '0x') {
      if (named !== undefined)
        throw new SetupError(`--token ${name}=${named}: no contract there; correct the address`)
      say(`${name}: no contract at ${showAddress(address)}; left out`)
      return undefined
    }
    say(`${name}: looking up the token, its pools and its first block`)
    return inspectChain(view, address, contracts)
  }
  const found = await Promise.all(views.map(inspect))
  return found.filter((each) => each !== undefined)
}

/** Derives the service's name from the token's; signed messages allow printable ASCII only. */
function proposeServiceName({ token }: Findings): string {
  const name = token.name.replace(/[^\x20-\x7e]/g, '').trim()
  return `${name || token.symbol} API`.slice(0, 64)
}

export function writeModule({ file, notes, remarks }: Draft): string {
  return `import { defineEcosystem } from 'sexton'

// Written by "sexton init". Every guess has its evidence beside it; correct what is wrong, then run
// "sexton check". A value may name a variable of the environment: '\${NAME}'.

export default defineEcosystem(${writeValue(file, { path: '', indent: '' }, notes)})
${remarks.map((each) => `\n// ${oneLine(each)}\n`).join('')}`
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

interface Place {
  readonly path: string
  readonly indent: string
}

function writeValue(value: unknown, { path, indent }: Place, notes: Draft['notes']): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const isList = Array.isArray(value)
  const inner = `${indent}  `
  const lines = Object.entries(value).flatMap(([name, each]) => {
    const place = isList ? `${path}[${name}]` : `${path}.${name}`.replace(/^\./, '')
    const text = writeValue(each, { path: place, indent: inner }, notes)
    const note = notes.get(place)
    const comment = note === undefined ? [] : [`${inner}// ${oneLine(note)}`]
    return [...comment, `${inner}${isList ? '' : `${writeName(name)}: `}${text},`]
  })
  const [open, close] = isList ? '[]' : '{}'
  return [open, ...lines, `${indent}${close}`].join('\n')
}

/** Names come from contracts, so anything unusual is escaped. */
function quote(text: string): string {
  const json = JSON.stringify(text)
  return /['"\\]/.test(json.slice(1, -1)) ? json : `'${text}'`
}

function writeName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name)
}
