package io.jrun.train.precision;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Device;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.UpdateRule;
import io.jrun.train.tensor.ComputedOnCpu;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A device skips a step with an overflow by itself. Parameters, states, counts and the loss scale are those of host
 * memory, where the host skips the step.
 */
class SkippedStepTest {
    private static final int STEPS = 7;
    private static final Set<Integer> OVERFLOWS = Set.of(1, 4);
    /** The parameter 'rare' has no gradient in these steps; the second of them overflows. */
    private static final Set<Integer> WITHOUT_RARE = Set.of(2, 4);

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    static List<UpdateRule> rules() {
        return List.of(FusedAdamW.DEFAULT, new FusedSgd(0.9, false));
    }

    private record Result(Map<String, float[]> tensors, ScalePolicy.State scale) {}

    private static Map<String, Tensor> parameters() {
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        for (String name : List.of("first", "rare", "last")) {
            Tensor values = torch.arange(new Scalar(20)).to(torch.ScalarType.Float);
            parameters.put(name, TensorMemory.own(values).requires_grad_(true));
        }
        return parameters;
    }

    private static void backward(Map<String, Tensor> parameters, int step, Tensor scale) {
        parameters.forEach((name, parameter) -> {
            parameter.mutable_grad().reset();
            if (!name.equals("rare") || !WITHOUT_RARE.contains(step)) {
                double factor = OVERFLOWS.contains(step) ? Double.POSITIVE_INFINITY : 1 + 0.1 * step;
                try (NoGradGuard _ = new NoGradGuard()) {
                    parameter.mutable_grad().put(parameter.mul(scale).mul(new Scalar(factor)));
                }
            }
        });
    }

    private static Result result(FlatOptimizer optimizer, Map<String, Tensor> parameters, ScalePolicy.State scale) {
        Map<String, float[]> tensors = new TreeMap<>();
        Map<String, Tensor> all = new LinkedHashMap<>(optimizer.state());
        all.putAll(parameters);
        all.forEach((name, tensor) -> {
            float[] values = new float[Math.toIntExact(tensor.numel())];
            tensor.detach().to(torch.ScalarType.Float).data_ptr_float().get(values);
            tensors.put(name, values);
        });
        return new Result(tensors, scale);
    }

    private static FlatOptimizer optimizer(Map<String, Tensor> parameters, UpdateRule rule) {
        return new FlatOptimizer(
                Parameters.of(parameters), rule, ParameterGroup.all(0.1), LearningRateSchedule.linear(0.1, 1, 1, 10));
    }

    private static final ScalePolicy POLICY = new ScalePolicy(1024, 2, 0.5, 2);

    private static Result onHost(UpdateRule rule) {
        Map<String, Tensor> parameters = parameters();
        LossScaler scaler = new LossScaler(POLICY, null);
        try (PointerScope _ = new PointerScope();
                FlatOptimizer optimizer = optimizer(parameters, rule)) {
            for (int step = 0; step < STEPS; step++) {
                backward(parameters, step, scaler.scale(torch.ones(1)));
                boolean _ = scaler.step(Parameters.of(parameters).values(), optimizer::step);
            }
            return result(optimizer, parameters, scaler.state());
        }
    }

    private static Result onDevice(UpdateRule rule) {
        Map<String, Tensor> parameters = parameters();
        Device device = Device.cuda(0);
        try (ComputedOnCpu _ = ComputedOnCpu.as(device);
                PointerScope _ = new PointerScope();
                DeviceLossScaler scaler = new DeviceLossScaler(POLICY, null, device);
                FlatOptimizer optimizer = optimizer(parameters, rule)) {
            long waits = DeviceWaits.count();
            for (int step = 0; step < STEPS; step++) {
                backward(parameters, step, scaler.scale(torch.ones(1)));
                optimizer.step(scaler.unscale(Parameters.of(parameters).values()));
                scaler.update();
            }
            assertThat(DeviceWaits.count() - waits).isZero();
            assertThat(scaler.skipped().item_double()).isEqualTo(OVERFLOWS.size());
            return result(optimizer, parameters, scaler.state());
        }
    }

    @ParameterizedTest
    @MethodSource("rules")
    void aDeviceSkipsTheStepsThatTheHostSkips(UpdateRule rule) {
        Result host = onHost(rule);
        Result device = onDevice(rule);
        assertThat(device.scale()).isEqualTo(host.scale());
        assertThat(device.tensors().keySet()).isEqualTo(host.tensors().keySet());
        List<String> different = new ArrayList<>();
        host.tensors().forEach((name, values) -> {
            float[] others = Objects.requireNonNull(device.tensors().get(name));
            for (int i = 0; i < values.length; i++) {
                if (Float.floatToRawIntBits(values[i]) != Float.floatToRawIntBits(others[i])) {
                    different.add(name + "[" + i + "] " + values[i] + " and " + others[i]);
                }
            }
        });
        assertThat(different).isEmpty();
        assertThat(Objects.requireNonNull(host.tensors().get("rare.step"))[0]).isEqualTo(STEPS - OVERFLOWS.size() - 1);
    }

    @Test
    void aResumedOptimizerHasTheCountsOfTheDevice() {
        Map<String, Tensor> parameters = parameters();
        try (ComputedOnCpu _ = ComputedOnCpu.as(Device.cuda(0));
                PointerScope _ = new PointerScope();
                FlatOptimizer first = optimizer(parameters, FusedAdamW.DEFAULT);
                FlatOptimizer second = optimizer(parameters, FusedAdamW.DEFAULT)) {
            for (int step = 0; step < 3; step++) {
                backward(parameters, 0, torch.ones(1));
                first.step(torch.full(new long[] {1}, new Scalar(step == 1 ? 1f : 0f)));
            }
            second.load(first.state(), 3);
            Tensor count = Objects.requireNonNull(second.state().get("last.step"));
            assertThat(count.item_long()).isEqualTo(2);
        }
    }
}
