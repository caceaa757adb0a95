fexport const View = (p: { n: number }) => <p>{p.n > 1 ? 'many' : `one ${p.n}`}</p>;
test('view', () => { expect(render(<View n={1} />)).toMatchSnapshot(); });
