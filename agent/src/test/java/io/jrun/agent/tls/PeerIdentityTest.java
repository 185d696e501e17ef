package io.jrun.agent.tls;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.util.HexFormat;
import javax.net.ssl.X509ExtendedKeyManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PeerIdentityTest {
    /** Source: RFC 8032, 7.1, tests 1 to 3. */
    @ParameterizedTest
    @CsvSource({
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60, d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb, 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7, fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"
    })
    void publicKeysArePublishedOnes(String privateKey, String publicKey) throws Exception {
        assertThat(encoded(Ed25519.keyPair(HexFormat.of().parseHex(privateKey)).getPublic()))
                .isEqualTo(publicKey);
    }

    @Test
    void certificateIsValidDerSignedByItsOwnKey() throws Exception {
        X509Certificate certificate = certificate(PeerIdentity.of(secret("a")));
        certificate.verify(certificate.getPublicKey());
        certificate.checkValidity();
        assertThat(certificate.getSubjectX500Principal().getName()).isEqualTo("CN=jrun agent");
    }

    /**
     * Different releases must understand each other well enough to name both versions; the values are a Python
     * script's.
     */
    @Test
    void secretAloneDecidesTheIdentity() {
        PeerIdentity identity = PeerIdentity.of(secret("a"));
        assertThat(certificate(PeerIdentity.of(secret("a"))).getPublicKey())
                .isEqualTo(certificate(identity).getPublicKey())
                .isNotEqualTo(certificate(PeerIdentity.of(secret("b"))).getPublicKey());
        assertThat(PeerIdentity.of(secret("a")).token())
                .isEqualTo(identity.token())
                .isNotEqualTo(PeerIdentity.of(secret("b")).token());
        assertThat(encoded(certificate(identity).getPublicKey()))
                .isEqualTo("92b55b890805dccdcaeaf2ed7745d5dbc45e52948b07b27fc00dd28fc3ef06b5");
        assertThat(HexFormat.of().formatHex(identity.token()))
                .isEqualTo("a48b5d540c8d9648ec6abc9bb032e84db65bdb14b0b2a11d0035ea11592acce5");
    }

    private static X509Certificate certificate(PeerIdentity identity) {
        return ((X509ExtendedKeyManager) identity.keyManager()).getCertificateChain("")[0];
    }

    private static byte[] secret(String letter) {
        return letter.repeat(32).getBytes(StandardCharsets.US_ASCII);
    }

    /** The last bytes of the key's encoding. Source: RFC 8410, 4. */
    private static String encoded(PublicKey key) {
        String all = HexFormat.of().formatHex(key.getEncoded());
        return all.substring(all.length() - 2 * Ed25519.KEY_BYTES);
    }
}
