package io.jrun.agent.tls;

import java.net.Socket;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedKeyManager;
import org.jspecify.annotations.Nullable;

/**
 * Sends the same certificate for every request of the peer. A key store would need the derivation of a password at
 * every start.
 */
final class FixedKeyManager extends X509ExtendedKeyManager {
    private static final String ALIAS = "jrun";

    private final PrivateKey key;
    private final X509Certificate certificate;

    FixedKeyManager(PrivateKey key, X509Certificate certificate) {
        this.key = key;
        this.certificate = certificate;
    }

    @Override
    public String[] getClientAliases(String keyType, Principal @Nullable [] issuers) {
        return new String[] {ALIAS};
    }

    @Override
    public String chooseClientAlias(String[] keyTypes, Principal @Nullable [] issuers, @Nullable Socket socket) {
        return ALIAS;
    }

    @Override
    public String chooseEngineClientAlias(
            String[] keyTypes, Principal @Nullable [] issuers, @Nullable SSLEngine engine) {
        return ALIAS;
    }

    @Override
    public String[] getServerAliases(String keyType, Principal @Nullable [] issuers) {
        return new String[] {ALIAS};
    }

    @Override
    public String chooseServerAlias(String keyType, Principal @Nullable [] issuers, @Nullable Socket socket) {
        return ALIAS;
    }

    @Override
    public String chooseEngineServerAlias(String keyType, Principal @Nullable [] issuers, @Nullable SSLEngine engine) {
        return ALIAS;
    }

    @Override
    public X509Certificate[] getCertificateChain(String alias) {
        return new X509Certificate[] {certificate};
    }

    @Override
    public PrivateKey getPrivateKey(String alias) {
        return key;
    }
}
