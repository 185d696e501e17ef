package io.jrun.bench.collective;

/** Every rank gets its block of the reduction. */
final class ReduceScatter implements BlockOperation {
    @Override
    public String name() {
        return "reducescatter";
    }

    @Override
    public boolean reduces() {
        return true;
    }

    @Override
    public void run(BenchCase cell) {
        cell.group().reduceScatter(cell.input(), cell.result(), cell.type(), cell.block(), cell.op());
    }

    @Override
    public Expected expected(BenchCase cell) {
        long first = cell.rank() * cell.block();
        return new Expected(cell.block(), i -> cell.reduced(first + i));
    }
}
