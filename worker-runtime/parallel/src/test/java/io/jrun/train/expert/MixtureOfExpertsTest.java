package io.jrun.train.expert;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import io.jrun.train.ParallelTraining;
import io.jrun.train.TinyGpt;
import io.jrun.train.tensor.ModuleTensors;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MixtureOfExpertsTest {
    private static final int TOKENS = 10;
    private static final int WIDTH = 3;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static Tensor input() {
        return torch.arange(new Scalar((long) TOKENS * WIDTH), new TensorOptions(torch.ScalarType.Double))
                .mul(new Scalar(0.7))
                .sin()
                .view(2, TOKENS / 2, WIDTH)
                .set_requires_grad(true);
    }

    /** All experts compute all tokens; the weights of experts that a token has not chosen are zero. */
    private static Tensor dense(Tensor x, Map<String, Tensor> parameters, int experts, int topK) {
        Tensor x_TD = x.view(TOKENS, WIDTH);
        Tensor probabilities = torch.softmax(torch.linear(x_TD, of(parameters, "router.weight")), 1);
        T_TensorTensor_T top = torch.topk(probabilities, topK);
        Tensor sum = topK == 1 ? torch.ones_like(top.get0()) : top.get0().sum(new long[] {1}, true, null);
        Tensor weights_TE = torch.zeros_like(probabilities)
                .scatter(1, top.get1(), top.get0().div(sum));
        Tensor y_TD = torch.zeros_like(x_TD);
        for (int expert = 0; expert < experts; expert++) {
            Tensor up = map(x_TD, parameters, "up_proj", expert);
            Tensor inner = parameters.containsKey("experts.gate_proj.weight")
                    ? torch.silu(map(x_TD, parameters, "gate_proj", expert)).mul(up)
                    : torch.gelu(up, "tanh");
            Tensor result = map(inner, parameters, "down_proj", expert);
            y_TD = y_TD.add(result.mul(weights_TE.select(1, expert).unsqueeze(1)));
        }
        return y_TD.view(2, TOKENS / 2, WIDTH);
    }

    private static Tensor map(Tensor x, Map<String, Tensor> parameters, String layer, int expert) {
        Tensor y =
                torch.linear(x, of(parameters, "experts." + layer + ".weight").select(0, expert));
        Tensor bias = parameters.get("experts." + layer + ".bias");
        return bias == null ? y : y.add(bias.select(0, expert));
    }

    private static Tensor of(Map<String, Tensor> parameters, String name) {
        return Objects.requireNonNull(parameters.get(name));
    }

    /** Switch Transformer, equation 4, with 0.01, and the z-loss of ST-MoE, equation 5, with 0.001. */
    private static Tensor auxiliaryLosses(Tensor x, Map<String, Tensor> parameters, int experts, int topK) {
        Tensor logits = torch.linear(x.view(TOKENS, WIDTH), of(parameters, "router.weight"));
        Tensor probabilities = torch.softmax(logits, 1);
        Tensor chosen = torch.zeros_like(probabilities)
                .scatter(1, torch.topk(probabilities, topK).get1(), new Scalar(1.0));
        Tensor balance = chosen.detach().mean(0).mul(probabilities.mean(0)).sum();
        Tensor z = torch.logsumexp(logits, 1).square().mean();
        return balance.mul(new Scalar(0.01 * experts / topK)).add(z.mul(new Scalar(0.001)));
    }

    /** The program divides its loss by 2, and scales the auxiliary losses in the same way. */
    @ParameterizedTest
    @CsvSource({"GELU,1", "GELU,2", "SWIGLU,2", "SWIGLU,4"})
    void outputsAndGradientsAreThoseOfDenseExperts(ExpertNetwork.Kind kind, int topK) {
        MixtureOfExperts layer = new MixtureOfExperts(kind, WIDTH, 5, new ExpertOptions(4, topK, 0, 0.01, 0.001));
        layer.setLossScale(0.5);
        layer.to(torch.ScalarType.Double, false);
        Map<String, Tensor> parameters = ModuleTensors.parameters(layer);
        TinyGpt.fill(parameters, 5);
        of(parameters, "router.weight").detach().mul_(new Scalar(10.0));
        Tensor direction = input().detach().cos();
        Tensor x = input();
        Tensor y = layer.forward(x);
        y.mul(direction).sum().backward();
        Map<String, Tensor> gradients = new LinkedHashMap<>();
        parameters.forEach((name, tensor) -> gradients.put(name, tensor.grad().clone()));
        parameters.values().forEach(tensor -> tensor.mutable_grad().zero_());
        Tensor denseX = input();
        Tensor expected = dense(denseX, parameters, 4, topK);
        Tensor auxiliary = auxiliaryLosses(denseX, parameters, 4, topK).mul(new Scalar(0.5));
        expected.mul(direction).sum().add(auxiliary).backward();
        assertThat(ParallelTraining.difference(y.detach(), expected.detach())).isLessThan(1e-15);
        assertThat(ParallelTraining.difference(x.grad(), denseX.grad())).isLessThan(1e-15);
        gradients.forEach((name, gradient) -> assertThat(ParallelTraining.difference(
                        gradient, of(parameters, name).grad()))
                .as(name)
                .isLessThan(1e-14));
        assertThat(of(parameters, "router.weight").grad().abs().max().item_double())
                .isPositive();
    }

    @Test
    void aDroppedTokenHasTheOutputZeroAndIsReported() {
        MixtureOfExperts layer =
                new MixtureOfExperts(ExpertNetwork.Kind.GELU, 3, 4, new ExpertOptions(2, 1, 0.5, 0.01, 0));
        layer.to(torch.ScalarType.Double, false);
        ModuleTensors.parameters(layer)
                .forEach((name, tensor) -> tensor.detach().fill_(new Scalar(name.equals("router.weight") ? 0.0 : 0.5)));
        Objects.requireNonNull(ModuleTensors.parameters(layer).get("router.weight"))
                .detach()
                .select(0, 1)
                .fill_(new Scalar(1.0));
        Tensor output = layer.forward(torch.ones(new long[] {8, 3}, new TensorOptions(torch.ScalarType.Double)));
        assertThat(output.narrow(0, 0, 2).abs().min().item_double()).isPositive();
        assertThat(output.narrow(0, 2, 6).abs().max().item_double()).isZero();
        assertThat(layer.report()).isEqualTo(new RoutingReport(6, List.of(0L, 8L)));
        assertThat(layer.report().droppedShare()).isEqualTo(0.75);
        assertThat(layer.report().imbalance()).isEqualTo(2);
    }
}
