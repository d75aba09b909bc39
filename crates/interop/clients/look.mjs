// What both generations of the TypeScript SDK ask a server, once they are connected.

// Prints what the client saw as one line of JSON, and closes it.
export async function look(client, protocolVersion) {
  const context = { context: "background job processing" };
  const seen = {
    protocolVersion,
    serverInfo: client.getServerVersion(),
    tools: (await client.listTools()).tools.map((tool) => tool.name),
    call: firstText(await client.callTool({ name: "tmkb_query", arguments: context }), false),
    error: firstText(await client.callTool({ name: "tmkb_query", arguments: { ...context, language: "java" } }), true),
    unknown: await outcome(client.callTool({ name: "no_such_tool", arguments: {} })),
    ping: await outcome(client.ping()),
  };
  await client.close();
  console.log(JSON.stringify(seen));
}

function firstText(result, isError) {
  if ((result.isError ?? false) !== isError) throw new Error(`unexpected: ${JSON.stringify(result)}`);
  return result.content[0].text;
}

// Returns "ok", or the error that came instead of a result.
async function outcome(request) {
  try {
    await request;
    return "ok";
  } catch ({ code, message }) {
    return { code, message };
  }
}
