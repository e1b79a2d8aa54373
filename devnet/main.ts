import { Command } from 'commander'
import { startDevnet } from '#devnet/start-devnet.ts'

interface Options {
  readonly basePort: number
  readonly ethereumPort: number
  readonly arbitrumPort: number
  readonly data: string
  readonly days: number
}

async function main(): Promise<void> {
  const values = new Command('node devnet/main.ts')
    .description('Runs the local chains until interrupted.')
    .option('--base-port <port>', 'port of base', Number, 8_545)
    .option('--ethereum-port <port>', 'port of ethereum', Number, 8_546)
    .option('--arbitrum-port <port>', 'port of arbitrum; 0 leaves it out', Number, 8_547)
    .option('--data <folder>', 'folder that keeps the chains between runs', '.sexton/devnet')
    .option('--days <count>', 'days of history on new chains', Number, 120)
    .parse()
    .opts<Options>()
  const asked = new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve())
    process.once('SIGTERM', () => resolve())
  })
  const began = performance.now()
  const devnet = await startDevnet({
    dataFolder: values.data,
    ports: {
      base: values.basePort,
      ethereum: values.ethereumPort,
      ...(values.arbitrumPort > 0 && { arbitrum: values.arbitrumPort }),
    },
    historyDays: values.days,
    log: (line) => console.log(line),
  })
  console.log(`ready after ${Math.round(performance.now() - began)} ms`)
  for (const [name, chain] of Object.entries(devnet.chains)) {
    console.log(`${name}: chain id ${chain.chainId} at ${chain.rpcUrl}`)
  }
  for (const [name, wallet] of Object.entries(devnet.wallets)) {
    console.log(`${name}: ${wallet.address} ${wallet.privateKey}`)
  }
  await asked
  await devnet.stop()
}

await main()
