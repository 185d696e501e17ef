package io.jrun.agent.tls;

import static java.math.BigInteger.ONE;
import static java.math.BigInteger.TWO;
import static java.math.BigInteger.ZERO;

import java.math.BigInteger;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.spec.ECFieldFp;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPoint;
import java.security.spec.ECPrivateKeySpec;
import java.security.spec.ECPublicKeySpec;

/**
 * The P-256 key pair that belongs to a private scalar. The JDK makes only random pairs, so the public point is computed here,
 * once per process; signatures and key agreement are the JDK's. The computation's time depends on the scalar, which only a
 * process of this machine could measure. Source: SEC 1, 2.2.1; the formulas are EFD's dbl-2001-b and madd (Jacobian).
 */
final class P256 {
    private static final BigInteger THREE = BigInteger.valueOf(3);
    private static final BigInteger EIGHT = BigInteger.valueOf(8);

    private final ECParameterSpec curve;
    private final BigInteger p;

    /** A point (x / z^2, y / z^3); z = 0 is the point at infinity. */
    private record Point(BigInteger x, BigInteger y, BigInteger z) {}

    private P256() throws GeneralSecurityException {
        AlgorithmParameters parameters = AlgorithmParameters.getInstance("EC");
        parameters.init(new ECGenParameterSpec("secp256r1"));
        curve = parameters.getParameterSpec(ECParameterSpec.class);
        p = ((ECFieldFp) curve.getCurve().getField()).getP();
    }

    /**
     * The pair whose private scalar is made of {@code uniform} bytes: 48 of them, so that the scalar's bias is below 2^-128.
     * Source: FIPS 186-5, A.2.1.
     */
    static KeyPair keyPair(byte[] uniform) throws GeneralSecurityException {
        P256 p256 = new P256();
        BigInteger last = p256.curve.getOrder().subtract(ONE);
        BigInteger scalar = new BigInteger(1, uniform).mod(last).add(ONE);
        KeyFactory factory = KeyFactory.getInstance("EC");
        return new KeyPair(
                factory.generatePublic(new ECPublicKeySpec(p256.timesGenerator(scalar), p256.curve)),
                factory.generatePrivate(new ECPrivateKeySpec(scalar, p256.curve)));
    }

    /** @param scalar from 1 to the order of the curve - 1 */
    static ECPoint publicPoint(BigInteger scalar) throws GeneralSecurityException {
        return new P256().timesGenerator(scalar);
    }

    private ECPoint timesGenerator(BigInteger scalar) {
        Point sum = new Point(ONE, ONE, ZERO);
        for (int bit = scalar.bitLength() - 1; bit >= 0; bit--) {
            sum = twice(sum);
            if (scalar.testBit(bit)) {
                sum = plusGenerator(sum);
            }
        }
        BigInteger inverse = sum.z.modInverse(p);
        BigInteger square = times(inverse, inverse);
        return new ECPoint(times(sum.x, square), times(sum.y, times(square, inverse)));
    }

    private Point twice(Point a) {
        BigInteger delta = times(a.z, a.z);
        BigInteger gamma = times(a.y, a.y);
        BigInteger beta = times(a.x, gamma);
        BigInteger alpha = times(THREE, times(a.x.subtract(delta), a.x.add(delta)));
        BigInteger x = times(alpha, alpha).subtract(EIGHT.multiply(beta)).mod(p);
        BigInteger sum = a.y.add(a.z);
        BigInteger z = times(sum, sum).subtract(gamma).subtract(delta).mod(p);
        BigInteger y = times(alpha, beta.shiftLeft(2).subtract(x))
                .subtract(EIGHT.multiply(times(gamma, gamma)))
                .mod(p);
        return new Point(x, y, z);
    }

    /** While a scalar below the order is read from its highest bit, the two points are never the same. */
    private Point plusGenerator(Point a) {
        BigInteger gx = curve.getGenerator().getAffineX();
        BigInteger gy = curve.getGenerator().getAffineY();
        if (a.z.signum() == 0) {
            return new Point(gx, gy, ONE);
        }
        BigInteger zz = times(a.z, a.z);
        BigInteger h = times(gx, zz).subtract(a.x).mod(p);
        BigInteger r = times(gy, times(a.z, zz)).subtract(a.y).mod(p);
        BigInteger hh = times(h, h);
        BigInteger hhh = times(h, hh);
        BigInteger v = times(a.x, hh);
        BigInteger x = times(r, r).subtract(hhh).subtract(TWO.multiply(v)).mod(p);
        BigInteger y = times(r, v.subtract(x)).subtract(times(a.y, hhh)).mod(p);
        return new Point(x, y, times(a.z, h));
    }

    private BigInteger times(BigInteger a, BigInteger b) {
        return a.multiply(b).mod(p);
    }
}
