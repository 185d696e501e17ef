package io.jrun.launcher.jobs;

import io.jrun.agent.tls.PeerIdentity;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.security.GeneralSecurityException;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;

/** A TLS client of an agent on this machine, with whatever key. */
final class TlsCaller {
    /** Separates working from hanging; an agent gives a silent caller up after 10 s. */
    static final int TIMEOUT_MILLIS = 90_000;

    private TlsCaller() {}

    /** A connection to {@code agent}, which may have been refused already. */
    static Socket connect(int port, PeerIdentity agent, KeyManager... own)
            throws IOException, GeneralSecurityException {
        SSLContext context = SSLContext.getInstance("TLSv1.3");
        context.init(own, new TrustManager[] {agent.trustManager()}, null);
        SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port);
        socket.setSoTimeout(TIMEOUT_MILLIS);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setApplicationProtocols(new String[] {"h2"});
        socket.setSSLParameters(parameters);
        try {
            socket.startHandshake();
        } catch (SSLException | SocketException e) {
            return socket; // an alert, or a reset while this side still sent: the next read reports it
        }
        return socket;
    }
}
