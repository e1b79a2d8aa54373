import { createInterface } from 'node:readline/promises'
import { Command } from 'commander'
import { parseAddress } from '#base/address.ts'
import { systemClock } from '#base/time.ts'
import type { Answers } from '#ops/setup/draft-file.ts'
import type { InitRequest } from '#ops/setup/init.ts'

interface Options extends Omit<InitRequest, 'address' | 'port'> {
  readonly name?: string
  readonly url?: string
  readonly payTo?: string
  readonly yes: boolean
}

const EXAMPLES = `
Looks up on the chains what can be found: the token, its first block, a pool for its price, known feeds, the
payment asset. It writes sexton.config.ts, where each guess has its evidence beside it, and "sexton start" serves
it. Exit code: 0 when the file is written, 2 when something in the command or on the chain is wrong.

Examples:
  sexton init 0x5FbDB2315678afecb367f032d93F642f64180aa3 --rpc https://mainnet.base.org
  sexton init 0x... --rpc https://eth.example --rpc https://base.example --token base=0x... --yes
`

export function initCommand(process: NodeJS.Process): Command {
  return new Command('init')
    .description('write an ecosystem file from what the chains show about a token')
    .argument('<token>', 'address of the primary token')
    .requiredOption('--rpc <url...>', 'JSON-RPC endpoints; several of one chain become one chain')
    .option('--token <chain=address...>', 'address on a chain where it differs', [])
    .option('--contract <address...>', 'pools that no known factory made', [])
    .option('--name <text>', 'name of the service')
    .option('--url <url>', 'public address of the API')
    .option('--pay-to <address>', 'wallet that receives payments for calls')
    .option('-o, --output <file>', 'file to write, .ts or .json (default sexton.config.ts)')
    .option('-y, --yes', 'ask nothing', false)
    .option('--force', 'overwrite an existing file', false)
    .addHelpText('after', EXAMPLES)
    .action((address: string, options: Options) => runInit(process, address, options))
}

async function runInit(process: NodeJS.Process, address: string, options: Options): Promise<void> {
  const { stdout } = process
  const [{ init }, { SetupError }] = await Promise.all([
    import('#ops/setup/init.ts'),
    import('#ops/setup/chain-view.ts'),
  ])
  if (!options.yes && process.stdin.isTTY !== true)
    throw new SetupError('--yes is missing: without a terminal nothing can be asked')
  const say = (line: string) => void stdout.write(`${line}\n`)
  const { path, draft } = await init(
    {
      clock: systemClock,
      askOperator: (defaults) => askOperator(process, options, defaults),
      say,
    },
    { ...options, address, port: Number(process.env.PORT) || 4020 },
  )
  for (const [field, note] of draft.notes) say(`${field}: ${note}`)
  for (const remark of draft.remarks) say(remark)
  const named = options.output === undefined ? '' : ` --ecosystem ${path}`
  say(`\nWrote ${path}. Read it, then run: ${describeStart(process.env)}${named}`)
}

function describeStart({ npm_command: npm }: NodeJS.ProcessEnv): string {
  if (npm === 'exec') return 'npx sexton start'
  return npm === 'run' || npm === 'run-script' ? 'npm run sexton -- start' : 'sexton start'
}

async function askOperator(
  { stdin, stdout }: NodeJS.Process,
  options: Options,
  defaults: Answers,
): Promise<Answers> {
  const lines = options.yes ? undefined : createInterface({ input: stdin, output: stdout })
  const ask = async (given: string | undefined, question: string, fallback: string) => {
    if (given !== undefined || lines === undefined) return given ?? fallback
    const hint = fallback === '' ? '' : ` [${fallback}]`
    const answer = await lines.question(`${question}${hint}: `)
    return answer.trim() || fallback
  }
  try {
    const serviceName = await ask(options.name, 'Name of the service', defaults.serviceName)
    const publicBaseUrl = await ask(options.url, 'Public address', defaults.publicBaseUrl)
    const payTo = await ask(options.payTo, 'Wallet for payments (empty: no payments)', '')
    return { ...defaults, serviceName, publicBaseUrl, payTo: await readPayTo(payTo) }
  } finally {
    lines?.close()
  }
}

async function readPayTo(text: string): Promise<Answers['payTo']> {
  const address = parseAddress(text)
  if (text === '' || address !== undefined) return address
  const { SetupError } = await import('#ops/setup/chain-view.ts')
  throw new SetupError(`--pay-to: not an EVM address: "${text}"; write 0x and 40 hex digits`)
}
