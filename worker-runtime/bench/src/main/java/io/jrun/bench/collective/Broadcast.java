package io.jrun.bench.collective;

/** Every rank gets the buffer of rank 0, in place. */
final class Broadcast implements BenchedOperation {
    @Override
    public String name() {
        return "broadcast";
    }

    @Override
    public double busFactor(int ranks) {
        return 1;
    }

    @Override
    public void run(BenchCase cell) {
        cell.group().broadcast(cell.input(), cell.type(), cell.total(), 0);
    }

    @Override
    public Expected expected(BenchCase cell) {
        return new Expected(cell.total(), i -> cell.value(0, i));
    }
}
