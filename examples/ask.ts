import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

// PRIVATE_KEY=0x… node examples/ask.ts http://localhost:4020 "Who are the top grave diggers?"
// An agent that knows nothing of the service but its address: it finds the endpoints and their price
// in the discovery document, chooses one by the words of the question, and pays when asked to.
const [origin = 'http://localhost:4020', question = 'How much was burned in total?'] =
  process.argv.slice(2)
const account = privateKeyToAccount(process.env.PRIVATE_KEY as `0x${string}`)
const client = new x402Client().register('eip155:8453', new ExactEvmScheme(account))
const pay = wrapFetchWithPayment(fetch, client)

interface Operation {
  readonly summary: string
  readonly description: string
  readonly parameters: readonly { readonly required: boolean }[]
  readonly 'x-payment-info'?: { readonly price: { readonly amount: string } }
}

interface Document {
  readonly paths: Readonly<Record<string, { readonly get?: Operation }>>
  readonly servers: readonly { readonly url: string }[]
}

const read = async <T>(url: string | URL) => (await (await fetch(url)).json()) as T
const { openapi } = await read<{ openapi: string }>(new URL('/.well-known/x402', origin))
const { paths, servers } = await read<Document>(openapi)
const words = question.toLowerCase().match(/[a-z]{4,}/g) ?? []
const scored = Object.entries(paths)
  .flatMap(([path, { get }]) => (get?.['x-payment-info'] === undefined ? [] : [{ path, get }]))
  .filter(({ get }) => get.parameters.every(({ required }) => !required))
  .map(({ path, get }) => {
    const text = `${path} ${get.summary}`.toLowerCase()
    return { path, get, score: words.filter((word) => text.includes(word)).length }
  })
  .sort((a, b) => b.score - a.score)
const [best] = scored
if (best === undefined || best.score === 0) throw new Error(`no endpoint fits "${question}"`)

const price = best.get['x-payment-info']?.price.amount
process.stderr.write(`${best.get.summary} (${best.path}), at most ${price} USD\n`)
const answer = await pay(new URL(best.path, servers[0]?.url))
process.stdout.write(`${JSON.stringify(await answer.json(), null, 2)}\n`)
process.exitCode = answer.ok ? 0 : 1
