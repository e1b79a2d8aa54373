import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { type Address, parseAddress, showAddress } from '#base/address.ts'
import type { Clock } from '#base/time.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { type Answers, type Draft, draftFile } from '#ops/setup/draft-file.ts'
import { type ChainView, openChains, SetupError } from './chain-view.ts'
import { type Findings, inspectChain } from './inspect-chain.ts'

export interface InitRequest {
  readonly address: string
  readonly rpc: readonly string[]
  /** `<chain>=0x…`, where the token has another address. */
  readonly token: readonly string[]
  /** Address of the secondary token. */
  readonly secondary?: string | undefined
  readonly contract: readonly string[]
  readonly force: boolean
  readonly output?: string | undefined
  readonly port: number
}

interface InitDeps {
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
  const path = request.output ?? 'sexton.config.ts'
  if (existsSync(path) && !request.force)
    throw new SetupError(`${path} exists already; remove it, or overwrite it with --force`)
  if (!existsSync(dirname(resolve(path))))
    throw new SetupError(`--output ${path}: there is no folder ${dirname(path)}; make it first`)
  if (!/\.([cm]?[jt]s|json)$/.test(path))
    throw new SetupError(
      `--output ${path}: not a name of an ecosystem file; end it in .ts or .json`,
    )
  const { primary, secondary, byChain, more } = readAddresses(request)
  const views = await openChains(request.rpc, deps.clock)
  const names = views.map(({ name }) => name)
  const unknown = [...byChain.keys()].filter((each) => !names.includes(each))
  const known = names.join(', ')
  if (unknown.length > 0) {
    const lines = unknown.map((each) => `--token ${each}: unknown chain "${each}"; known: ${known}`)
    throw new SetupError(lines.join('\n'))
  }
  const found = await inspectAll(deps, views, { primary, byChain, more })
  const [first] = found
  if (first === undefined)
    throw new SetupError(
      `${request.address}: no contract there on ${known}; check the address and the chains`,
    )
  const others = { primary: secondary ?? primary, byChain: new Map(), more }
  const second = secondary === undefined ? [] : await inspectAll(deps, views, others)
  if (secondary !== undefined && second.length === 0)
    throw new SetupError(`--secondary: no contract at ${showAddress(secondary)} on ${known}`)
  const answers = await deps.askOperator({
    serviceName: proposeServiceName(first),
    publicBaseUrl: `http://localhost:${request.port}`,
    payTo: undefined,
    today: new Date(deps.clock()).toISOString().slice(0, 10),
  })
  const draft = draftFile(found, answers, second)
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
  readonly more: readonly Address[]
}

function readAddresses({ address, secondary, token, contract }: InitRequest) {
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
  const other = secondary === undefined ? undefined : read('--secondary', secondary)
  const byChain = new Map(
    token.map((each) => {
      const [chain = '', text = ''] = each.split('=')
      return [chain, read(`--token ${each}`, text)] as const
    }),
  )
  const more = contract.map((each) => read('--contract', each))
  const isTaken = [primary, ...byChain.values()].some((each) => each === other)
  if (isTaken && other !== '0x')
    problems.push('--secondary: is the primary token; name another, or leave it out')
  if (problems.length > 0) throw new SetupError(problems.join('\n'))
  return { primary, secondary: other, byChain, more }
}

const STEPS = 4

async function inspectAll(
  { onProgress, say }: InitDeps,
  views: readonly ChainView[],
  { primary, byChain, more }: Addresses,
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
    let step = 0
    const onStep = (task: string) => {
      onProgress(`${name}: ${task}`, step, STEPS)
      step += 1
    }
    return inspectChain({ view, address, more, onStep })
  }
  const found = await Promise.all(views.map(inspect))
  return found.filter((each) => each !== undefined)
}

/** Derives the service's name from the token's; signed messages allow printable ASCII only. */
function proposeServiceName({ token }: Findings): string {
  const name = token.name.replace(/[^\x20-\x7e]/g, '').trim()
  return `${name || token.symbol} API`.slice(0, 64)
}

export function writeModule({ file, notes, questions, remarks }: Draft): string {
  return `import { defineEcosystem } from 'sexton'

// Written by "sexton init". Every guess has its evidence beside it; correct what is wrong, then run
// "sexton check". A value may name a variable of the environment: '\${NAME}'.

export default defineEcosystem(${writeValue(file, { path: '', indent: '' }, notes)})
${questions.map(writeQuestion).join('')}${remarks.map((each) => `\n// ${oneLine(each)}\n`).join('')}`
}

/** Writes the question below the file, as a comment. */
function writeQuestion({ path, text, entry }: Draft['questions'][number]): string {
  const lines = writeValue(entry, { path, indent: '' }, new Map()).split(/[\n\r\u2028\u2029]/)
  return ['', `// ${oneLine(`${path}: ${text}`)}`, ...lines.map((each) => `//   ${each}`), ''].join(
    '\n',
  )
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

interface Place {
  readonly path: string
  readonly indent: string
}

const WIDTH = 100

function writeValue(value: unknown, place: Place, notes: Draft['notes']): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const isList = Array.isArray(value)
  const members = Object.entries(value).filter(([, each]) => each !== undefined)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  const inner = `${place.indent}  `
  const inside = ([name]: [string, unknown]) =>
    isList ? `${place.path}[${name}]` : `${place.path}.${name}`.replace(/^\./, '')
  const written = members.map((each): string => {
    const path = inside(each)
    const text = writeValue(each[1], { path, indent: inner }, notes)
    return isList ? text : `${writeName(each[0])}: ${text}`
  })
  const hasNotes = [...notes.keys()].some((each) => members.some((one) => each === inside(one)))
  const flat = isList ? `[${written.join(', ')}]` : `{ ${written.join(', ')} }`
  if (!hasNotes && !flat.includes('\n') && place.indent.length + flat.length < WIDTH) return flat
  const lines = members.flatMap((each, index) => {
    const note = notes.get(inside(each))
    const comment = note === undefined ? [] : [`${inner}// ${oneLine(note)}`]
    return [...comment, `${inner}${written[index]},`]
  })
  return [open, ...lines, `${place.indent}${close}`].join('\n')
}

/** Names come from contracts, so anything unusual is escaped. */
function quote(text: string): string {
  const json = JSON.stringify(text)
  return /['"\\]/.test(json.slice(1, -1)) ? json : `'${text}'`
}

function writeName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name)
}
