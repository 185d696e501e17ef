package io.jrun.agent;

import io.jrun.comm.tls.ChainTrustManager;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;

/** A TLS client that accepts every server, so that only the server's own check can refuse it. */
final class TrustingClient {
    private TrustingClient() {}

    /**
     * The first byte of an agent's answer.
     *
     * @param keys what the client shows
     * @param groups the key exchanges that the client offers; none stands for the JDK's own list
     */
    static int firstByte(AgentServer agent, KeyManager[] keys, String... groups) throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys, new TrustManager[] {new TrustsEveryServer()}, null);
        try (SSLSocket socket =
                (SSLSocket) context.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), agent.port())) {
            SSLParameters parameters = socket.getSSLParameters();
            parameters.setApplicationProtocols(new String[] {"h2"});
            parameters.setNamedGroups(groups.length == 0 ? parameters.getNamedGroups() : groups);
            socket.setSSLParameters(parameters);
            socket.setSoTimeout(30_000);
            socket.getOutputStream().write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            return socket.getInputStream().read();
        }
    }

    private static final class TrustsEveryServer extends ChainTrustManager {
        @Override
        protected void check(X509Certificate... chain) {}
    }
}
