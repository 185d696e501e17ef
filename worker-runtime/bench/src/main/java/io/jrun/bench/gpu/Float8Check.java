package io.jrun.bench.gpu;

import io.jrun.comm.Device;
import io.jrun.models.gpt2.Gpt2;
import io.jrun.models.gpt2.Gpt2Config;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.layer.Float8Layers;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.precision.Float8Linear;
import io.jrun.train.precision.Float8Product;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Products of 8-bit numbers on a device, compared with the emulation of the CPU: of one layer, and of a training. */
final class Float8Check {
    private static final Gpt2Config CONFIG = new Gpt2Config(96, 32, 64, 2, 4, 256, 1e-5, true);
    private static final int BATCH = 4;
    private static final int STEPS = 20;

    /**
     * A value at the border of two 8-bit numbers is rounded by the last bit of a sum, so small differences grow. With
     * this rate, noise of 1e-6 to 1e-3 on all products changes a loss of 20 steps by 1.3e-3 at most; with 0.1 by 0.1.
     */
    private static final double RATE = 0.01;

    /** Forward pass, gradient of the inputs, gradient of the weight. */
    private static final int PRODUCTS_OF_LAYER = 3;

    /**
     * Both devices multiply the same 8-bit numbers. Hopper adds with about 14 bits: 2^-13 of the largest product is lost
     * in each addition, or 5e-4 of these sums. Another rounding of the operands would differ by about 2^-5.
     */
    private static final double LAYER_TOLERANCE = 5e-3;

    private static final double LOSS_TOLERANCE = 1e-2;

    private Float8Check() {}

    /** Compares a layer whose sizes are no multiples of 16, then a training of GPT-2. */
    static String compareWithCpu(Device device) {
        return layer(device) + "; " + training(device);
    }

    private static String layer(Device device) {
        try (PointerScope _ = new PointerScope()) {
            torch.manual_seed(1);
            Tensor x = torch.randn(2, 100, 72);
            Tensor weight = torch.randn(56, 72).mul(new Scalar(0.05));
            Tensor gradient = torch.randn(2, 100, 56).mul(new Scalar(1e-3));
            long before = Float8Product.deviceProducts();
            List<Tensor> found = results(device, x, weight, gradient);
            requireProducts(device, before, 2L * PRODUCTS_OF_LAYER);
            List<Tensor> expected = results(Device.CPU, x, weight, gradient);
            StringBuilder errors = new StringBuilder();
            for (int i = 0; i < PRODUCTS_OF_LAYER; i++) {
                double error = relativeError(found.get(i).cpu(), expected.get(i));
                GpuCheck.require(
                        error < LAYER_TOLERANCE,
                        "product " + i + " differs from the CPU's by a relative error of " + error);
                errors.append(String.format(Locale.ROOT, "%s%.1e", i == 0 ? "" : ", ", error));
            }
            double rounding = relativeError(expected.getFirst(), torch.linear(x, weight));
            GpuCheck.require(rounding > 5 * LAYER_TOLERANCE, "the operands were not rounded: " + rounding);
            return String.format(
                    Locale.ROOT,
                    "one layer: relative errors of output and gradients %s against the CPU's 8 bits (of 8 bits against"
                            + " float32: %.1e)",
                    errors,
                    rounding);
        }
    }

    /** The output and the gradients of the second use, whose scales follow from the first. */
    private static List<Tensor> results(Device device, Tensor x, Tensor weight, Tensor gradient) {
        org.bytedeco.pytorch.Device place = new org.bytedeco.pytorch.Device(device.toString());
        Tensor input = x.to(place, torch.ScalarType.Float).detach().requires_grad_();
        Tensor matrix = weight.to(place, torch.ScalarType.Float).detach().requires_grad_();
        Tensor given = gradient.to(place, torch.ScalarType.Float);
        try (Float8Linear linear = new Float8Linear()) {
            Tensor output = linear.apply(input, matrix);
            for (int use = 0; use < 2; use++) {
                if (use > 0) {
                    input.mutable_grad().zero_();
                    matrix.mutable_grad().zero_();
                    output = linear.apply(input, matrix);
                }
                AutogradBridge.instance().backward(List.of(output.mul(given).sum()), List.of());
            }
            return List.of(output.detach(), input.grad(), matrix.grad());
        }
    }

    private static double relativeError(Tensor found, Tensor expected) {
        return found.sub(expected).norm().item_double() / expected.norm().item_double();
    }

    private static String training(Device device) {
        double[] expected = losses(Device.CPU);
        double[] found = losses(device);
        double largest = 0;
        for (int step = 0; step < STEPS; step++) {
            largest = Math.max(largest, Math.abs(found[step] - expected[step]));
            GpuCheck.require(
                    Math.abs(found[step] - expected[step]) < LOSS_TOLERANCE,
                    "the loss of step " + (step + 1) + " is " + found[step] + ", on the CPU " + expected[step]);
        }
        GpuCheck.require(found[STEPS - 1] < found[0], "the loss did not fall: " + found[0] + ", " + found[STEPS - 1]);
        return String.format(
                Locale.ROOT,
                "%d steps of GPT-2: loss %.4f to %.4f, within %.1e of the CPU's",
                STEPS,
                found[0],
                found[STEPS - 1],
                largest);
    }

    private static double[] losses(Device device) {
        Gpt2 model = new Gpt2(CONFIG, device);
        model.build();
        model.initialize(1);
        Map<String, LinearLayer> layers = model.descendants(LinearLayer.class);
        double[] losses = new double[STEPS];
        long before = Float8Product.deviceProducts();
        try (PointerScope _ = new PointerScope();
                Float8Layers _ = new Float8Layers(layers)) {
            SGD optimizer = new SGD(model.parameters(), new SGDOptions(RATE));
            for (int step = 0; step < STEPS; step++) {
                try (PointerScope _ = new PointerScope()) {
                    optimizer.zero_grad();
                    Tensor loss = model.loss(tokens(device, step), tokens(device, step + 1));
                    AutogradBridge.instance().backward(List.of(loss), List.of());
                    optimizer.step();
                    losses[step] = loss.item_double();
                }
            }
        }
        requireProducts(device, before, (long) STEPS * layers.size() * PRODUCTS_OF_LAYER);
        return losses;
    }

    /** Proves that a GPU multiplied 8-bit numbers, and that the CPU did not. */
    private static void requireProducts(Device device, long before, long onGpu) {
        long wanted = device.isCpu() ? 0 : onGpu;
        long found = Float8Product.deviceProducts() - before;
        GpuCheck.require(found == wanted, found + " products of 8-bit numbers ran on " + device + ", not " + wanted);
    }

    /** Token numbers by a rule that the model can learn. */
    private static Tensor tokens(Device device, int step) {
        long[] values = new long[(int) (BATCH * CONFIG.context())];
        for (int i = 0; i < values.length; i++) {
            values[i] = (7L * i + 3L * step) % CONFIG.vocabulary();
        }
        return Tensor.create(values, BATCH, CONFIG.context())
                .to(new org.bytedeco.pytorch.Device(device.toString()), torch.ScalarType.Long);
    }
}
