import { parseArgs } from 'node:util'
import { createPublicClient, createWalletClient, encodeFunctionData, http, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

// npm install viem
/** The three commands of Foundry's `cast` that prepay.sh needs; the wallet is PRIVATE_KEY's. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'rpc-url': { type: 'string' },
    json: { type: 'boolean' },
  },
})
const account = privateKeyToAccount(process.env.PRIVATE_KEY)
const [command = '', ...rest] = positionals

process.stdout.write(`${await run()}\n`)

async function run() {
  const [first = '', second = '', ...more] = rest
  if (command === 'wallet' && first === 'address') return account.address
  if (command === 'wallet' && first === 'sign') return account.signMessage({ message: second })
  if (command === 'send') return send(first, second, more)
  throw new Error(`there is no command ${positionals.join(' ')}`)
}

/** Sends a call such as `transfer(address,uint256)` and waits until it is sealed. */
async function send(to, signature, parameters) {
  const transport = http(values['rpc-url'])
  const chain = createPublicClient({ transport })
  const abi = parseAbi([`function ${signature}`])
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
