package io.jrun.agent.tls;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.cert.X509Certificate;
import java.security.interfaces.ECPrivateKey;
import java.security.interfaces.ECPublicKey;
import java.security.spec.ECGenParameterSpec;
import java.util.HexFormat;
import javax.net.ssl.X509ExtendedKeyManager;
import org.junit.jupiter.api.Test;

class PeerIdentityTest {
    @Test
    void publicPointsAreThoseOfTheJdk() throws Exception {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
        generator.initialize(new ECGenParameterSpec("secp256r1"));
        for (int i = 0; i < 50; i++) {
            KeyPair pair = generator.generateKeyPair();
            BigInteger scalar = ((ECPrivateKey) pair.getPrivate()).getS();
            assertThat(P256.publicPoint(scalar)).isEqualTo(((ECPublicKey) pair.getPublic()).getW());
        }
    }

    /** Source: RFC 6979, A.2.5. */
    @Test
    void publicPointOfAPublishedKey() throws Exception {
        BigInteger scalar = hex("C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721");
        assertThat(P256.publicPoint(scalar).getAffineX())
                .isEqualTo(hex("60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6"));
        assertThat(P256.publicPoint(scalar).getAffineY())
                .isEqualTo(hex("7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299"));
    }

    @Test
    void smallScalarsToo() throws Exception {
        BigInteger one = BigInteger.ONE;
        assertThat(P256.publicPoint(one).getAffineX())
                .isEqualTo(hex("6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296"));
        assertThat(P256.publicPoint(BigInteger.TWO).getAffineX())
                .isEqualTo(hex("7CF27B188D034F7E8A52380304B51AC3C08969E277F21B35A60B48FC47669978"));
        assertThat(P256.publicPoint(BigInteger.valueOf(3)).getAffineX())
                .isEqualTo(hex("5ECBE4D1A6330A44C8F7EF951D4BF165E6C6B721EFADA985FB41661BC6E7FD6C"));
    }

    @Test
    void certificateIsValidDerSignedByItsOwnKey() throws Exception {
        X509Certificate certificate = certificate(PeerIdentity.of(secret("a")));
        certificate.verify(certificate.getPublicKey());
        certificate.checkValidity();
        assertThat(certificate.getSubjectX500Principal().getName()).isEqualTo("CN=jrun agent");
    }

    /** Different releases must understand each other well enough to name both versions; the values are a Python script's. */
    @Test
    void secretAloneDecidesTheIdentity() {
        PeerIdentity identity = PeerIdentity.of(secret("a"));
        assertThat(certificate(PeerIdentity.of(secret("a"))).getPublicKey())
                .isEqualTo(certificate(identity).getPublicKey())
                .isNotEqualTo(certificate(PeerIdentity.of(secret("b"))).getPublicKey());
        assertThat(PeerIdentity.of(secret("a")).token())
                .isEqualTo(identity.token())
                .isNotEqualTo(PeerIdentity.of(secret("b")).token());
        ECPublicKey key = (ECPublicKey) certificate(identity).getPublicKey();
        assertThat(key.getW().getAffineX().toString(16))
                .isEqualTo("e63b36e5608bb13c1f438567f80d404daa5b1946cfffa98bbdbf1167c9d53b39");
        assertThat(HexFormat.of().formatHex(identity.token()))
                .isEqualTo("a48b5d540c8d9648ec6abc9bb032e84db65bdb14b0b2a11d0035ea11592acce5");
    }

    private static X509Certificate certificate(PeerIdentity identity) {
        return ((X509ExtendedKeyManager) identity.keyManager()).getCertificateChain("")[0];
    }

    private static byte[] secret(String letter) {
        return letter.repeat(32).getBytes(StandardCharsets.US_ASCII);
    }

    private static BigInteger hex(String digits) {
        return new BigInteger(digits, 16);
    }
}
