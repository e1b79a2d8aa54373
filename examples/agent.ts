import { ExactEvmScheme } from '@x402/evm/exact/client'
import { createSIWxClientExtension } from '@x402/extensions/sign-in-with-x'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

// PRIVATE_KEY=0x… node examples/agent.ts [url]: no API key and no quota, only a wallet with USDC.
const account = privateKeyToAccount(process.env.PRIVATE_KEY as `0x${string}`)
const client = new x402Client()
  .register('eip155:8453', new ExactEvmScheme(account))
  .registerExtension(createSIWxClientExtension({ signers: [account] }))
const pay = wrapFetchWithPayment(fetch, client)

const answer = await pay(process.argv[2] ?? 'http://localhost:4020/api/burns/total')
process.stdout.write(`${JSON.stringify(await answer.json(), null, 2)}\n`)
process.exitCode = answer.ok ? 0 : 1
