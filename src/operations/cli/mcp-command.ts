import { Command } from 'commander'

interface Options {
  readonly url: string
}

const EXAMPLES = `
Speaks MCP on standard input and output, and passes each message on to the service. The API key comes
from SEXTON_API_KEY; without one, calls count for the address of this machine. Exit code: 0 when the
client closes the input, 1 when the service cannot be reached.

Examples:
  sexton mcp --url http://localhost:4020
  SEXTON_API_KEY=svc_... sexton mcp --url https://api.example.com
`

export function mcpCommand(process: NodeJS.Process): Command {
  return new Command('mcp')
    .description('offer a running service to an MCP client over standard input and output')
    .requiredOption('--url <address>', 'address of the service')
    .addHelpText('after', EXAMPLES)
    .action(async ({ url }: Options) => {
      const { runMcpProxy } = await import('./mcp-proxy.ts')
      await runMcpProxy({ url, key: process.env.SEXTON_API_KEY })
    })
}
