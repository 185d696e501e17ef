package io.jrun.train.expert;

import io.jrun.comm.Device;
import io.jrun.train.precision.Autocast;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Chooses the experts of each token: the experts with the largest softmax of a linear map. The router computes in the
 * type of its weight also under autocast, because rounded logits change choices (Switch Transformer, section 2.4).
 */
final class Router extends Module {
    private final ExpertOptions options;
    private final Tensor weight;

    /** A router whose weight [E, D] is zero. */
    Router(long width, ExpertOptions options, Device device) {
        this.options = options;
        weight = TensorMemory.own(register_parameter("weight", DeviceTensors.zeros(device, options.experts(), width)));
    }

    /** Chooses the experts of tokens [T, D]. */
    Routing route(Tensor x_TD) {
        try (Autocast _ = Autocast.off(x_TD.device().type())) {
            Tensor logits_TE = torch.linear(x_TD.to(weight.scalar_type()), weight);
            Tensor probabilities_TE = torch.softmax(logits_TE, 1);
            T_TensorTensor_T top = torch.topk(probabilities_TE, options.topK(), 1, true, true);
            long tokens = x_TD.size(0);
            AcceptedChoices choices =
                    new AcceptedChoices(top.get1().t().reshape(-1), options.experts(), options.capacity(tokens));
            Tensor positions_A =
                    DeviceTensors.of(TensorMemory.device(x_TD), choices.positions(), choices.positions().length);
            Tensor weights_KT = weights(top.get0()).t().reshape(-1);
            return new Routing(
                    choices,
                    positions_A.remainder(new Scalar(tokens)),
                    weights_KT.index_select(0, positions_A),
                    loss(logits_TE, probabilities_TE, choices));
        }
    }

    /**
     * The probabilities of a token's experts, divided by their sum (GShard, Mixtral). A single probability stays as it
     * is (Switch Transformer): divided by itself it would give the router no gradient.
     */
    private static Tensor weights(Tensor top_TK) {
        return top_TK.size(1) == 1 ? top_TK : top_TK.div(top_TK.sum(new long[] {1}, true, null));
    }

    /**
     * The load-balancing loss, Switch Transformer, equation 4: E times the sum over the experts of (share of the
     * choices) x (mean probability). Equal shares give 1. The z-loss is the mean of the squares of the logarithms of
     * the sums of the exponentials.
     */
    private Tensor loss(Tensor logits_TE, Tensor probabilities_TE, AcceptedChoices choices) {
        Tensor load_E;
        try (NoGradGuard _ = new NoGradGuard()) {
            load_E = DeviceTensors.of(TensorMemory.device(weight), choices.load(), choices.load().length)
                    .to(weight.scalar_type());
        }
        double choicesOfAll = (double) logits_TE.size(0) * options.topK();
        Tensor balance = probabilities_TE
                .mean(0)
                .mul(load_E)
                .sum()
                .mul(new Scalar(options.balanceWeight() * options.experts() / choicesOfAll));
        return options.logitWeight() == 0
                ? balance
                : balance.add(torch.logsumexp(logits_TE, 1).square().mean().mul(new Scalar(options.logitWeight())));
    }
}
