import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const FOLDER = join(import.meta.dirname, '../../deploy')

/** `deploy/nginx.conf` within a main configuration, with ports and a certificate of this machine. */
export async function nginxConfiguration(
  folder: string,
  ports: { readonly http: number; readonly https: number },
): Promise<string> {
  const [certificate, key] = [join(folder, 'fullchain.pem'), join(folder, 'privkey.pem')]
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  const subject = ['-nodes', '-subj', '/CN=localhost', '-keyout', key, '-out', certificate]
  await promisify(execFile)('openssl', [...kind, ...subject])
  const site = (await readFile(join(FOLDER, 'nginx.conf'), 'utf8'))
    .replaceAll(/listen (\[::\]:)?(80|443)\b/g, (_, ipv6, port) => {
      const host = ipv6 === undefined ? '127.0.0.1' : '[::1]'
      return `listen ${host}:${port === '80' ? ports.http : ports.https}`
    })
    .replace('/etc/ssl/sexton/fullchain.pem', certificate)
    .replace('/etc/ssl/sexton/privkey.pem', key)
  return nginxMain(folder, `access_log off;\n${site}`)
}

/** A main configuration that writes into a folder only. */
export function nginxMain(folder: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
pid ${folder}/nginx.pid;
error_log stderr warn;
events {}
http {
${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
${http}
}
`
}
