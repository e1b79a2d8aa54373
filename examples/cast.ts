import { parseArgs } from 'node:util'
import {
  type Abi,
  type Address,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  parseAbi,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

/** The three commands of Foundry's `cast` that prepay.sh needs, for machines without it. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'private-key': { type: 'string' },
    'rpc-url': { type: 'string' },
    json: { type: 'boolean' },
  },
})
const account = privateKeyToAccount(values['private-key'] as Hex)
const [command = '', ...rest] = positionals

process.stdout.write(`${await run()}\n`)

async function run(): Promise<string> {
  const [first = '', second = '', ...more] = rest
  if (command === 'wallet' && first === 'address') return account.address
  if (command === 'wallet' && first === 'sign') return account.signMessage({ message: second })
  if (command === 'send') return send(first as Address, second, more)
  throw new Error(`there is no command ${positionals.join(' ')}`)
}

/** Sends a call such as `transfer(address,uint256)` and waits until it is sealed. */
async function send(to: Address, signature: string, parameters: string[]): Promise<string> {
  const transport = http(values['rpc-url'])
  const chain = createPublicClient({ transport })
  const abi: Abi = parseAbi([`function ${signature}`] as readonly string[])
  const args = parameters.map((each) => (/^[0-9]+$/.test(each) ? BigInt(each) : each))
  const data = encodeFunctionData({ abi, args })
  const price = process.env.ETH_GAS_PRICE
  const hash = await createWalletClient({ account, transport }).sendTransaction({
    chain: null,
    to,
    data,
    ...(price !== undefined && { gasPrice: BigInt(price) }),
  })
  const { transactionHash } = await chain.waitForTransactionReceipt({ hash })
  return JSON.stringify({ transactionHash })
}
