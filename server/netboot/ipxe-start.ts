/**
 * The script for an iPXE that we know nothing about yet: it asks again, and says who it is. iPXE that was loaded by
 * TFTP runs it by itself (`autoexec.ipxe`); one that DHCP sent to `/boot.ipxe` comes without a word about itself.
 */
export function ipxeStart(baseUrl: string): string {
  const query = 'mac=${netX/mac}&uuid=${uuid}&serial=${serial:uristring}&vendor=${manufacturer:uristring}';
  return [
    '#!ipxe',
    'isset ${netX/ip} || dhcp || goto failed',
    `chain --replace ${baseUrl}/boot.ipxe?${query} || goto failed`,
    ':failed',
    'echo Railhead does not answer, starting over',
    'sleep 10',
    'reboot',
    '',
  ].join('\n');
}
